// The chart above the time slider: GPUs held as an area, in it those at work and those lent, where
// jobs tell that; and jobs waiting as a line.

const W = 1000, H = 60;

// draw shows the steps of a log; x gives the place of step i in 0..1.
export function draw(svg, series, marks = []) {
  svg.setAttribute('viewBox', `0 0 ${W} ${H}`);
  const most = Math.max(1, ...series.flatMap((s) => s.log.map((l) => l.waiting)));
  const parts = [];
  for (const s of series) {
    if (!s.log.length) continue;
    const held = steps(s.log, s.x, (l) => (l.all ? l.held / l.all : 0));
    const waiting = steps(s.log, s.x, (l) => l.waiting / most * 0.95);
    if (s.area) parts.push(`<path class="held ${s.name || ''}" d="M0 ${H}${held}L${W} ${H}Z"/>`);
    if (s.area && s.log.some((l) => l.told)) {
      for (const [name, of] of [['lent', (l) => (l.active || 0) + (l.lent || 0)], ['active', (l) => l.active || 0]]) {
        parts.push(`<path class="${name}" d="M0 ${H}${steps(s.log, s.x, (l) => (l.all ? of(l) / l.all : 0))}L${W} ${H}Z"/>`);
      }
    }
    else parts.push(`<path class="held line ${s.name || ''}" d="M0 ${H}${held}"/>`);
    parts.push(`<path class="wait ${s.name || ''}" d="M0 ${H}${waiting}"/>`);
  }
  for (const m of marks) parts.push(`<line class="mark" x1="${m.x * W}" x2="${m.x * W}" y1="0" y2="${H}"/>`);
  parts.push(`<line class="cursor" x1="0" x2="0" y1="0" y2="${H}"/>`);
  svg.innerHTML = parts.join('');
}

// steps holds a value from one step to the next.
function steps(log, x, y) {
  let d = '', last = '';
  log.forEach((l, i) => {
    const at = (x(l, i) * W).toFixed(1), v = (H - y(l) * (H - 3)).toFixed(1);
    if (v === last && i < log.length - 1) return;
    d += `H${at}V${v}`;
    last = v;
  });
  return d + `H${W}`;
}

export function cursor(svg, at) {
  const line = svg.querySelector('.cursor');
  if (line) { line.setAttribute('x1', at * W); line.setAttribute('x2', at * W); }
}
