// The fleet as a picture: boxes of domains, in them nodes, in them a cell for each GPU.
import { el, hue, replica, plural } from './words.js';

// describe says in words what a GPU is doing.
export function describe(node, i) {
  const g = node.gpus[i];
  const words = [`${node.id} GPU ${i}`];
  if (node.marks?.includes('lost')) return words[0] + ': node lost';
  if (g.failed) words.push('failed');
  if (g.mode) words.push(g.mode);
  for (const p of g.parts || []) {
    const part = p.instance ? ` ${p.instance}` : p.milli ? ` ${p.milli}/1000` : '';
    words.push(`${replica(p.job, p.replica)}${p.member}${part} ${p.phase}${p.idle ? ' and idle' : ''}${p.borrowed ? ' on loan' : ''}${p.givesBack ? ', to be given back' : ''}`);
  }
  if (!g.parts && !g.failed) words.push('free');
  return words.join(', ');
}

export class Picture {
  // onselect gets {node, gpu}; gpu is undefined for a node as a whole.
  constructor(root, onselect) {
    this.root = root;
    this.onselect = onselect;
    this.nodes = new Map(); // by ID: {box, drawn}
    root.addEventListener('click', (e) => {
      const cell = e.target.closest('[data-node]');
      if (cell) this.select(cell);
    });
    root.addEventListener('keydown', (e) => this.key(e));
  }

  select(cell) {
    this.focus(cell);
    this.onselect({ node: cell.dataset.node, gpu: cell.dataset.gpu === undefined ? undefined : +cell.dataset.gpu });
  }

  focus(cell) {
    this.root.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: 'nearest' });
  }

  // key moves among the cells: one of them is in the order of tabs.
  key(e) {
    const all = [...this.root.querySelectorAll('button[data-node]')];
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const here = all[at].dataset.node;
    const node = (step) => {
      for (let i = at + step; i >= 0 && i < all.length; i += step) {
        if (all[i].dataset.node !== here && all[i].dataset.gpu === all[at].dataset.gpu) return all[i];
      }
    };
    const to = { ArrowRight: () => all[at + 1], ArrowLeft: () => all[at - 1], ArrowDown: () => node(1), ArrowUp: () => node(-1) }[e.key]?.();
    if (!to) return;
    e.preventDefault();
    e.stopPropagation();
    this.focus(to);
  }

  // draw shows a picture. Boxes are made anew when nodes come or go, else only what changed.
  draw(picture, marked) {
    const shape = JSON.stringify(picture.nodes.map((n) => [n.id, n.domains, n.gpus.length]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(picture);
    }
    for (const n of picture.nodes) {
      const held = this.nodes.get(n.id);
      const now = JSON.stringify(n);
      if (held.drawn !== now) {
        held.drawn = now;
        this.fill(held.box, n);
      }
    }
    if (!this.root.querySelector('[tabindex="0"]')) this.root.querySelector('button')?.setAttribute('tabindex', '0');
    this.mark(picture, marked);
  }

  build(picture) {
    this.nodes.clear();
    const levels = picture.levels || [];
    const nodes = [...picture.nodes].sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
    const tree = new Map();
    for (const n of nodes) {
      let at = tree;
      for (const d of (n.domains || []).slice(0, levels.length)) {
        if (!at.has(d)) at.set(d, new Map());
        at = at.get(d);
      }
      at.set('node ' + n.id, n);
    }
    this.root.classList.toggle('many', nodes.length > 48);
    this.root.classList.toggle('few', nodes.length <= 8);
    this.root.replaceChildren(...this.boxes(tree, levels));
    if (!nodes.length) this.root.append(el('p', { class: 'empty' }, 'No nodes yet. Open a scenario, or add some: node n1..n8'));
  }

  boxes(tree, levels) {
    const out = [], nodes = el('div', { class: 'nodes' });
    for (const [name, inside] of [...tree].sort((a, b) => a[0].localeCompare(b[0], 'en', { numeric: true }))) {
      if (inside instanceof Map) {
        out.push(el('section', { class: 'domain', 'aria-label': `${levels[0]} ${name}` },
          el('h3', {}, el('span', {}, levels[0] || ''), ' ' + name), ...this.boxes(inside, levels.slice(1))));
      } else {
        const box = el('div', { class: 'node', 'data-id': inside.id });
        this.nodes.set(inside.id, { box, drawn: '' });
        nodes.append(box);
      }
    }
    if (nodes.children.length) out.push(nodes);
    return out;
  }

  fill(box, n) {
    const focused = box.contains(document.activeElement) ? document.activeElement.dataset.gpu : null;
    const tab = box.querySelector('[tabindex="0"]')?.dataset.gpu ?? (box.querySelector('[tabindex="0"]') ? 'node' : null);
    const marks = n.marks || [];
    box.className = 'node ' + marks.map((m) => m.replace(' ', '-')).join(' ');
    const name = el('button', { type: 'button', tabindex: '-1', class: 'name', 'data-node': n.id, 'aria-label': `node ${n.id}${marks.length ? ', ' + marks.join(', ') : ''}` },
      n.id, ...marks.map((m) => el('em', {}, m)));
    const cells = el('div', { class: 'gpus', style: { '--n': Math.min(8, n.gpus.length || 1) } }, ...n.gpus.map((g, i) => this.cell(n, g, i)));
    const jobs = [...new Set([...n.gpus.flatMap((g) => (g.parts || []).map((p) => replica(p.job, p.replica))), ...(n.hosted || []).map((p) => replica(p.job, p.replica))])];
    box.replaceChildren(name, cells, el('p', { class: 'who' }, ...jobs.slice(0, 3).map((j) => el('span', { style: { '--job': hue(j.split('/')[0]) } }, j)), jobs.length > 3 && `+${jobs.length - 3}`));
    if (tab != null) (box.querySelector(`[data-gpu="${tab}"]`) || name).tabIndex = 0;
    if (focused != null) (box.querySelector(`[data-gpu="${focused}"]`) || name).focus({ preventScroll: true });
  }

  cell(n, g, i) {
    // A borrower is a layer of its own, above the one that holds the GPU.
    const over = (g.parts || []).find((p) => p.borrowed), parts = (g.parts || []).filter((p) => p !== over);
    const whole = parts.length === 1 && !parts[0].milli && !parts[0].instance ? parts[0] : null;
    const c = el('button', {
      type: 'button', tabindex: '-1', class: ['gpu', g.failed && 'failed', whole && whole.phase, whole?.idle && 'idle', over && 'lent', !parts.length && 'free', g.mode].filter(Boolean).join(' '),
      'data-node': n.id, 'data-gpu': i, 'aria-label': describe(n, i), title: describe(n, i),
    });
    if (whole) c.style.setProperty('--job', hue(whole.job));
    if (whole) c.dataset.jobs = replica(whole.job, whole.replica);
    else if (parts.length) c.dataset.jobs = parts.map((p) => replica(p.job, p.replica)).join(' ');
    if (!whole) c.append(...this.parts(g, parts));
    if (over) c.append(el('i', { class: `part over ${over.phase} ${over.givesBack ? 'gives-back' : ''}`, style: { '--job': hue(over.job) }, 'data-jobs': replica(over.job, over.replica) }));
    return c;
  }

  // parts are what stands inside a GPU that is divided or shared.
  parts(g, parts) {
    const out = [];
    const slices = g.slices || 8;
    for (const i of g.instances || []) {
      const holder = parts.find((p) => p.instance === i.name);
      out.push(this.part(holder, i.start / slices, i.size / slices, i.name));
    }
    for (const p of parts.filter((p) => p.instance && !(g.instances || []).some((i) => i.name === p.instance))) {
      const [start, size] = p.instance.split('@')[1].split(':').map(Number);
      out.push(this.part(p, start / slices, size / slices, p.instance));
    }
    let from = 0;
    for (const p of parts.filter((p) => p.milli)) {
      out.push(this.part(p, from / 1000, p.milli / 1000, `${p.milli / 1000} GPU`));
      from += p.milli;
    }
    return out;
  }

  part(holder, start, size, name) {
    return el('i', {
      class: 'part ' + (holder ? holder.phase : 'free'), title: holder ? `${replica(holder.job, holder.replica)} ${name}` : `${name} free`,
      style: { left: `${start * 100}%`, width: `${size * 100}%`, ...(holder ? { '--job': hue(holder.job) } : {}) },
      'data-jobs': holder && replica(holder.job, holder.replica),
    }, size >= 0.2 && el('span', {}, name.split('@')[0]));
  }

  // mark puts rings around cells: of the job that is selected, of victims, of what goes with a
  // GPU, and around the nodes to which something is to go.
  mark(picture, marked = {}) {
    for (const c of this.root.querySelectorAll('.ring, .victim, .moves, .chosen, .target')) c.classList.remove('ring', 'victim', 'moves', 'chosen', 'target');
    const each = (jobs, cls) => {
      if (!jobs?.length) return;
      for (const c of this.root.querySelectorAll('[data-jobs]')) {
        if (c.dataset.jobs.split(' ').some((j) => jobs.includes(j))) c.classList.add(cls);
      }
    };
    each(marked.jobs, 'ring');
    each(marked.victims, 'victim');
    each(marked.moves, 'moves');
    for (const id of marked.targets || []) this.nodes.get(id)?.box.classList.add('target');
    const { node, gpu } = marked.chosen || {};
    if (node) this.root.querySelector(`button[data-node="${CSS.escape(node)}"]${gpu === undefined ? '.name' : `[data-gpu="${gpu}"]`}`)?.classList.add('chosen');
  }
}

// table is the same picture in words.
export function table(picture) {
  const rows = picture.nodes.map((n) => el('tr', {},
    el('th', { scope: 'row' }, n.id), el('td', {}, (n.domains || []).join('/')), el('td', {}, (n.marks || []).join(', ') || 'in service'),
    el('td', {}, `${n.gpus.filter((g) => !g.parts && !g.failed).length} of ${n.gpus.length}`),
    el('td', {}, n.gpus.map((g, i) => describe(n, i).replace(`${n.id} `, '')).filter((t) => !t.endsWith(', free')).join('; ') || 'idle')));
  return el('table', {}, el('caption', {}, plural(rows.length, 'node')),
    el('thead', {}, el('tr', {}, ...['Node', 'Where', 'State', 'GPUs free', 'What is there'].map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, ...rows));
}
