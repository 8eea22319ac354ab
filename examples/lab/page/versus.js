// Two policies on the same events, side by side.
import { $, clock, el, plural } from './words.js';
import { Picture } from './picture.js';
import * as chart from './chart.js';

const far = Number.MAX_SAFE_INTEGER;

export class Versus {
  constructor(core, busy) {
    this.core = core;
    this.busy = busy; // shows progress; false stops
    $('versus-form').addEventListener('submit', (e) => {
      e.preventDefault();
      this.compare(new FormData(e.target)).catch((error) => $('versus-result').replaceChildren(el('p', { class: 'bad' }, error.message)));
    });
  }

  open(text, policy) {
    this.text = text;
    const form = $('versus-form');
    if (!form.a.value && !form.b.value) {
      form.a.value = policy;
      form.b.value = [...policy.split(' ').filter((w) => w && !w.startsWith('preemption=')), 'preemption=off'].join(' ');
    }
    $('versus').showModal();
  }

  async compare(form) {
    const out = $('versus-result');
    out.replaceChildren(el('p', { class: 'quiet' }, 'Playing both…'));
    this.sides = [];
    for (const name of ['a', 'b']) {
      const { text } = await this.core.ask({ do: 'drive', text: this.text, policy: form.get(name).trim(), horizon: `${+form.get('hours')}h` });
      await this.core.ask({ do: 'load', world: name, text });
      const total = text.split('\n').length;
      const status = await this.core.long({ do: 'run', world: name, until: far }, (s) => {
        out.firstChild.textContent = `Playing ${name.toUpperCase()}: ${Math.round(100 * (s.latest?.line || 0) / total)} %, ${clock(s.now)}`;
        return $('versus').open;
      });
      if (!$('versus').open) return;
      if (status.failed) throw new Error(`${name.toUpperCase()}: ${status.latest.did}: ${status.failed}`);
      const { log } = await this.core.ask({ do: 'log', world: name });
      const picture = await this.core.ask({ do: 'picture', world: name });
      this.sides.push({ name, policy: form.get(name).trim() || 'the defaults', log, picture, end: status.now });
    }
    this.show(out);
  }

  show(out) {
    const [a, b] = this.sides, end = Math.max(a.end, b.end, 1);
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'versus-chart');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', 'GPUs held under A and under B, over time');
    svg.setAttribute('preserveAspectRatio', 'none');
    chart.draw(svg, this.sides.map((s) => ({ name: s.name, log: s.log, x: (l) => l.at / end })));
    const slider = el('input', { type: 'range', min: 0, max: Math.ceil(end / 60000) * 60000, step: 60000, value: end, 'aria-label': 'Instant to show' });
    const at = el('output', {}, clock(end));
    const pictures = this.sides.map((s) => {
      const box = el('div', { class: 'picture' });
      s.drawn = new Picture(box, () => {});
      s.drawn.draw(s.picture);
      return el('section', { 'aria-label': `The fleet under ${s.name.toUpperCase()}` }, el('h3', { class: s.name }, s.name.toUpperCase(), el('small', {}, ' ' + s.policy)), s.say = el('p', { class: 'quiet' }), box);
    });
    this.say();
    slider.addEventListener('input', () => { at.textContent = clock(+slider.value); chart.cursor(svg, slider.value / end); this.seek(+slider.value); });
    out.replaceChildren(el('div', { class: 'outcome-and-chart' }, this.table(),
      el('div', {}, el('p', { class: 'legend' }, el('span', {}, el('span', { class: 'k a' }), ' A: GPUs held'), el('span', {}, el('span', { class: 'k b' }), ' B: GPUs held; dotted: waiting')), svg, slider, el('p', {}, 'Both at ', at))),
    el('div', { class: 'both' }, ...pictures));
    chart.cursor(svg, 1);
  }

  say() {
    for (const s of this.sides) {
      const g = s.picture.report.gpus, waiting = s.picture.jobs.flatMap((j) => j.replicas).filter((r) => r.state === 'pending').reduce((n, r) => n + 1 + (r.alike || 0), 0);
      s.say.textContent = `${Math.round(g.heldMilli / 1000)} of ${Math.round(g.allMilli / 1000)} GPUs held, ${plural(waiting, 'job')} waiting`;
    }
  }

  // seek shows both at an instant. Only the latest wish counts.
  async seek(until) {
    this.wish = until;
    if (this.seeking) return;
    this.seeking = true;
    try {
      while (this.wish !== undefined) {
        const at = this.wish;
        this.wish = undefined;
        for (const s of this.sides) {
          await this.core.long({ do: 'seek', world: s.name, byTime: true, until: at });
          s.picture = await this.core.ask({ do: 'picture', world: s.name });
          s.drawn.draw(s.picture);
        }
        this.say();
      }
    } finally {
      this.seeking = false;
    }
  }

  table() {
    const waits = (p) => p.jobs.flatMap((j) => j.replicas.filter((r) => r.state === 'pending').map((r) => p.now - r.since));
    const rows = [
      ['Jobs submitted', (s) => s.picture.tally.submitted, 0],
      ['Finished', (s) => s.picture.tally.finished, 1],
      ['Still waiting at the end', (s) => waits(s.picture).length, -1],
      ['Mean wait for a place', (s) => s.picture.tally.waitedMS / Math.max(1, s.picture.tally.placed), -1, clock],
      ['Longest wait for a place', (s) => Math.max(s.picture.tally.longestMS, ...waits(s.picture), 0), -1, clock],
      ['Evicted for others', (s) => s.picture.tally.evicted, -1],
      ['Moved', (s) => s.picture.tally.moved, 0],
      ['Stopped by hardware', (s) => s.picture.tally.interrupted, -1],
      ['GPU time held', (s) => 100 * s.picture.tally.heldMS / Math.max(1, s.picture.tally.allMS), 1, (v) => v.toFixed(1) + ' %'],
      ['Of that, lent while idle', (s) => 100 * s.picture.tally.lentMS / Math.max(1, s.picture.tally.allMS), 1, (v) => v.toFixed(1) + ' %'],
    ].filter(([title], i, all) => i < all.length - 1 || this.sides.some((s) => s.picture.tally.lentMS));
    return el('table', { class: 'outcome' }, el('thead', {}, el('tr', {}, ...['', 'A', 'B'].map((h) => el('th', { scope: 'col' }, h)))),
      el('tbody', {}, ...rows.map(([title, value, better, print = String]) => {
        const [a, b] = this.sides.map(value);
        const cell = (v, other) => el('td', { class: better && v !== other && (v > other) === (better > 0) && 'better' }, print(v));
        return el('tr', {}, el('th', { scope: 'row' }, title), cell(a, b), cell(b, a));
      })));
  }
}
