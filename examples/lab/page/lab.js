// The lab's page. The scenario is always played ahead to its end, so that time is a thing to move
// in: playing, stepping and scrubbing are the same request to the core in its worker.
import { $, clock, download, el, forgetHues, plural } from './words.js';
import { Core } from './core.js';
import { Picture, table } from './picture.js';
import { gpuDetail, jobDetail, jobList, nodeDetail, quotaTable } from './panels.js';
import { pack, unpack } from './link.js';
import { Versus } from './versus.js';
import * as chart from './chart.js';

const far = Number.MAX_SAFE_INTEGER;

// What the page knows of the scenario that is open.
const lab = {
  title: '', text: '', lines: [], log: [], status: null, picture: null,
  byTime: true, // the scenario has runs, so that the slider is over time; else it is over steps
  at: 0,        // the instant that is shown, between two steps perhaps
  playing: false, selected: null, undo: [], stories: [], deaths: 0,
};

const core = new Core(reborn);
const picture = new Picture($('picture'), (cell) => select({ kind: cell.gpu === undefined ? 'node' : 'gpu', ...cell }));
const versus = new Versus(core);

// --- one thing after the other ---

let queue = Promise.resolve();

// inTurn does something once all before it is done, and shows how it fails. The page says that it is
// busy meanwhile.
function inTurn(task) {
  document.body.dataset.busy = 'yes';
  const mine = queue.then(task).catch((error) => say(error.message, true)).then(() => {
    if (mine === queue) delete document.body.dataset.busy;
  });
  return queue = mine;
}

function say(text, bad) {
  $('status').textContent = text;
  $('status').classList.toggle('bad', !!bad);
}

// --- opening and playing ahead ---

async function open(text, title, where = {}) {
  pause();
  await core.ask({ do: 'load', text });
  forgetHues();
  lab.text = text;
  lab.title = title;
  lab.selected = null;
  lab.at = 0;
  $('printed').textContent = '';
  $('title').textContent = title;
  document.title = `${title} · berth lab`;
  await ahead();
  lab.byTime = lab.lines.some((l) => l.startsWith('run '));
  if (where.step !== undefined) await toStep(where.step);
  else await toStep(opening());
  if (where.at !== undefined && lab.byTime) await toTime(where.at);
}

// opening is the step behind which the fleet stands and nothing has happened yet.
function opening() {
  const setup = /^(#|config|node|queue|table|policy|reserve)/;
  let n = 0;
  while (n < lab.log.length && setup.test(lab.log[n].did)) n++;
  return n;
}

// ahead plays the scenario to its end, so that the future is known, and reads the log.
async function ahead() {
  let stopped = false;
  const total = Math.max(1, lab.text.split('\n').length);
  const began = performance.now();
  $('stop').onclick = () => { stopped = true; };
  lab.status = await core.long({ do: 'run', until: far }, (s) => {
    if (performance.now() - began > 300) {
      $('busy').hidden = false;
      $('progress').value = Math.min(1, (s.latest?.line || 0) / total);
      $('doing').textContent = `playing ahead: ${clock(s.now)}`;
    }
    return !stopped;
  });
  $('busy').hidden = true;
  const known = await core.ask({ do: 'log' });
  lab.log = known.log || [];
  lab.lines = known.lines || [];
  lab.text = (await core.ask({ do: 'text' })).text;
  if (stopped) say('Stopped: time after ' + clock(lab.status.now) + ' is not known yet. Any change plays on.');
  else if (lab.status.failed) say(`Line ${lab.status.latest.line + 1}: ${lab.status.latest.did}: ${lab.status.failed}`, true);
  else say('');
}

// reborn is called when the worker died: it is started again and plays the scenario anew.
function reborn(why) {
  lab.deaths++;
  const { text, title, at, status } = lab;
  if (lab.deaths > 2) {
    say(`The core ended again (${why}). The scenario is in the editor; change it, and play it.`, true);
    $('text').value = text;
    core.start();
    return;
  }
  core.start();
  queue = Promise.resolve();
  inTurn(async () => {
    await open(text, title, { step: status?.step, at });
    say(`The core ended and was started again; the scenario was repeated. It said: ${why}`, true);
  });
}

// --- moving in time ---

const end = () => (lab.log.length ? lab.log[lab.log.length - 1].at : 0);

async function toStep(step) {
  lab.status = await core.long({ do: 'seek', to: step });
  lab.at = lab.status.now;
  await refresh();
}

async function toTime(at) {
  lab.at = Math.max(0, Math.min(at, end()));
  lab.status = await core.long({ do: 'seek', byTime: true, until: Math.floor(lab.at) });
  await refresh();
}

let wish = null;
// scrub goes where the slider is; only its latest place counts.
function scrub(to) {
  const idle = wish === null;
  wish = to;
  if (!idle) return;
  inTurn(async () => {
    try {
      while (wish !== null) {
        const to = wish;
        await (lab.byTime ? toTime(to) : toStep(to));
        if (wish === to) wish = null;
      }
    } finally {
      wish = null; // also if the core ended meanwhile
    }
  });
}

// forward is one step on, without the comments before it; in a run to the next instant at which
// something happens.
function forward(by) {
  pause();
  inTurn(async () => {
    let n = lab.status.step;
    const quiet = (l) => l && (l.did.startsWith('#') || l.did === '' || /^pass$/.test(l.did) && /no orders/.test(l.printed));
    do n += by; while (n > 0 && n < lab.log.length && quiet(lab.log[n - 1]));
    await toStep(n);
  });
}

let lastFrame = 0;
function play() {
  if (lab.playing) return pause();
  if (lab.status && lab.status.step >= lab.log.length && lab.at >= end()) {
    if (!lab.byTime) return inTurn(() => toStep(opening())).then(play);
    return inTurn(async () => { await more(); play(); });
  }
  lab.playing = true;
  $('play').textContent = 'Pause';
  for (const id of ['clock', 'detail']) $(id).setAttribute('aria-live', 'off');
  lastFrame = performance.now();
  beat();
}

function pause() {
  lab.playing = false;
  $('play').textContent = 'Play';
  for (const id of ['clock', 'detail']) $(id).setAttribute('aria-live', 'polite');
}

// beat is one picture of what is played. Steps of a story take a moment each, to be read.
async function beat() {
  while (lab.playing) {
    const now = performance.now();
    await inTurn(async () => {
      if (!lab.playing) return;
      if (lab.byTime) await toTime(lab.at + (now - lastFrame) / 1000 * +$('speed').value * 1000);
      else await toStep(lab.status.step + 1);
      if (lab.status.step >= lab.log.length && lab.at >= end()) {
        pause();
        say(lab.byTime ? 'The scenario ends here. Play on to let two more hours pass.' : 'The story ends here.');
        await refresh();
      }
    });
    lastFrame = now;
    const comment = lab.log[lab.status.step - 1]?.did.startsWith('#');
    await new Promise((done) => setTimeout(done, lab.byTime ? 50 : (comment ? 1200 : 600) * 300 / +$('speed').value));
  }
}

// more lets two hours pass behind the end.
async function more() {
  await core.ask({ do: 'append', text: 'run 2h', at: Math.floor(lab.at), keep: true });
  const at = lab.at;
  await ahead();
  lab.byTime = true;
  await toTime(at);
}

// --- changing what happens ---

const questions = /^(explain|bandwidth|blast|reservations|outstanding|fleet|totals|machine|draining|health|what-if|start-plan|diff|expect|run|pass|wake|advance|#)/;

// act puts a line into the scenario at the instant that is shown. Under run the rest comes all the
// same; of a story, which reports its orders by number, the rest is given up.
function act(...lines) {
  pause();
  return inTurn(async () => {
    const before = { text: lab.text, title: lab.title, step: lab.status.step, at: lab.at };
    const cut = !lab.byTime && lab.status.step < lab.log.length;
    let printed = '';
    for (const line of lines) {
      let status = await core.ask({ do: 'append', text: line, at: Math.floor(lab.at), keep: lab.byTime });
      printed += status.latest?.did === line ? status.latest.printed || '' : '';
      if (!questions.test(line) && (!lab.byTime || status.done)) {
        status = await core.ask({ do: 'append', text: 'pass', at: Math.floor(lab.at), keep: lab.byTime });
        printed += status.latest.printed || '';
      }
      lab.status = status;
    }
    const { step } = lab.status, at = lab.at;
    lab.undo.push(before);
    await ahead();
    lab.byTime = lab.lines.some((l) => l.startsWith('run '));
    if (lab.byTime) await toTime(Math.max(at, lab.status.now && lab.log[step - 1]?.at || 0));
    else await toStep(step);
    $('printed').textContent = printed;
    const refused = printed.split('\n').find((l) => l.trim().startsWith('refused'));
    say(refused ? refused.trim() : cut ? 'Done. The rest of the story was given up; Undo brings it back.' : `Done at ${clock(lab.at)}: ${lines.join('; ').slice(0, 120)}`, !!refused);
  });
}

function undo() {
  const before = lab.undo.pop();
  if (!before) return;
  const rest = lab.undo;
  inTurn(async () => {
    await open(before.text, before.title, lab.byTime ? { step: before.step, at: before.at } : { step: before.step });
    lab.undo = rest;
    $('undo').disabled = !rest.length;
    say('Undone.');
  });
}

// --- showing ---

async function refresh() {
  lab.picture = await core.ask({ do: 'picture' });
  show();
  await detail();
}

let marked = {};

function show() {
  const p = lab.picture, s = lab.status;
  $('clock').textContent = clock(lab.byTime ? Math.max(lab.at, s.now) : s.now);
  $('place').textContent = `· step ${s.step} of ${lab.log.length}`;
  const slider = $('slider');
  slider.step = lab.byTime ? tick() : 1;
  slider.max = lab.byTime ? Math.ceil(end() / tick()) * tick() : lab.log.length;
  if (wish === null) slider.value = lab.byTime ? lab.at : s.step;
  slider.setAttribute('aria-valuetext', `${clock(s.now)}, step ${s.step} of ${lab.log.length}`);
  drawChart();
  picture.draw(p, marked);
  if (!$('table').hidden) $('table').replaceChildren(table(p));
  const g = p.report.gpus, n = p.report.nodes;
  $('summary').textContent = `${plural(n.all, 'node')}, ${g.heldMilli / 1000} of ${g.allMilli / 1000} GPUs held` + (g.borrowedMilli ? `, ${g.borrowedMilli / 1000} of them lent` : '') + (g.outOfServiceMilli ? `, ${g.outOfServiceMilli / 1000} out of service` : '') + (p.tally.evicted ? `; ${p.tally.evicted} evicted` : '') + (p.tally.moved ? `, ${p.tally.moved} moved` : '') + (p.tally.givenBack ? `; ${plural(p.tally.givenBack, 'loan')} given back` : '');
  showUse(p);
  keepFocus($('jobs'), () => $('jobs').replaceChildren(...jobList(p, lab.selected?.kind === 'job' && lab.selected.job, (job) => select({ kind: 'job', job }))));
  $('undo').disabled = !lab.undo.length;
  caption();
  showLog();
  fillForms();
}

// showUse puts what is held beside what is in use, where jobs tell how busy they are.
function showUse(p) {
  const { allMilli: all, heldMilli: held, lendableMilli, borrowedMilli: lent = 0 } = p.report.gpus, { toldMilli, activeMilli: active = 0 } = p.report.activity || {};
  const lends = lendableMilli || lent || p.jobs.some((j) => j.lend);
  for (const e of document.querySelectorAll('.loans')) e.hidden = !lends;
  for (const e of document.querySelectorAll('.use')) e.hidden = !lab.log.some((l) => l.told);
  $('use').hidden = !toldMilli;
  if (!toldMilli) return;
  const row = (name, parts) => [el('span', {}, name), el('div', {}, ...parts.map(([cls, milli]) => el('i', { class: cls, style: { width: `${100 * milli / all}%` } }))),
    el('b', {}, `${Math.round(parts.reduce((sum, [, milli]) => sum + 100 * milli / all, 0))} %`)];
  $('use').replaceChildren(...row('held', [['held', held]]), ...row(lends ? 'at work, and lent' : 'at work', [['active', active], ['lent', lent]]));
}

// tick is how far an arrow key moves the slider.
const tick = () => (end() > 12 * 3600000 ? 300000 : end() > 3600000 ? 60000 : 10000);

// keepFocus brings the focus back to the button of the same job.
function keepFocus(box, redraw) {
  const job = box.contains(document.activeElement) ? document.activeElement.dataset.job : null;
  redraw();
  if (job) box.querySelector(`[data-job="${CSS.escape(job)}"]`)?.focus({ preventScroll: true });
}

let charted = null;
function drawChart() {
  if (charted !== lab.log) {
    charted = lab.log;
    const last = Math.max(1, end());
    const x = lab.byTime ? (l) => l.at / last : (l, i) => (i + 1) / lab.log.length;
    const trouble = /^(advance .*\n)?(lose|fail-gpu|xid|drain|policy)\b/;
    chart.draw($('chart'), [{ log: lab.log, x, area: true }], lab.log.map((l, i) => trouble.test(l.did) && { x: x(l, i) }).filter(Boolean));
  }
  chart.cursor($('chart'), lab.byTime ? lab.at / Math.max(1, end()) : lab.status.step / Math.max(1, lab.log.length));
}

// caption tells what the latest step was, with the comment that stands above it.
function caption() {
  const step = lab.log[lab.status.step - 1];
  if (!step) return $('caption').replaceChildren();
  let from = step.line;
  const isComment = (l) => lab.lines[l]?.startsWith('#');
  if (!isComment(from)) from--;
  const said = [];
  const setUp = lab.status.step === opening();
  if (setUp) from = lab.lines.findIndex((l) => !l.startsWith('#')) - 1; // what the scenario begins with
  for (let l = from; l >= 0 && isComment(l); l--) said.unshift(lab.lines[l].replace(/^#\s?/, ''));
  const show = !setUp && (!lab.byTime || lab.at - step.at < 60000);
  const out = [];
  if (said.length && (setUp || !lab.lines[step.line]?.startsWith('run '))) out.push(el('p', {}, said.join(' ')));
  if (show && !step.did.startsWith('#') && step.did) {
    const did = step.did.split('\n').filter((l) => !l.startsWith('advance') || !lab.byTime).join('; ');
    const printed = (step.printed || '').trimEnd().split('\n');
    if (did && !/no orders/.test(printed[0])) out.push(el('pre', {}, el('b', {}, did === 'pass' ? 'A pass gives these orders' : did.slice(0, 300)), '\n' + printed.slice(0, 6).map((l) => l.slice(2)).join('\n') + (printed.length > 6 ? `\n… ${printed.length - 6} more` : '')));
  }
  if (!out.length && lab.lines[0]?.startsWith('#')) out.push(el('p', { class: 'quiet' }, lab.lines.slice(0, lab.lines.findIndex((l) => !l.startsWith('#'))).map((l) => l.replace(/^#\s?/, '')).join(' ')));
  $('caption').replaceChildren(...out);
}

function showLog() {
  const items = [];
  for (let i = lab.status.step - 1; i >= 0 && items.length < 60; i--) {
    const l = lab.log[i], did = l.did.split('\n').filter((d) => !d.startsWith('advance')).join('; ');
    if (!did || did.startsWith('#') || (did === 'pass' && /no orders/.test(l.printed))) continue;
    const orders = did === 'pass' ? (l.printed || '').trim() : '';
    items.push(el('li', {}, el('button', { type: 'button', title: 'Go there', click: () => { pause(); inTurn(() => toStep(i + 1)); } }, clock(l.at)), ' ',
      el('span', { class: /refused,/.test(l.printed || '') && 'bad' }, orders ? orders.split('\n').slice(0, 4).map((o) => o.trim().slice(0, 150)).join('\n') : did.slice(0, 150) + (/refused,/.test(l.printed || '') ? '\n' + l.printed.trim() : ''))));
  }
  $('log').replaceChildren(...items);
}

// fillForms offers the queues and levels that there are, and shows quota and policy.
function fillForms() {
  const p = lab.picture, form = $('submit');
  const parents = new Set(p.queues.map((q) => q.queue.parent));
  options(form.queue, p.queues.map((q) => q.queue.name).filter((n) => !parents.has(n)).map((n) => [n, n]));
  options(form.required, [['', 'any distance'], ['node', 'node'], ...[...(p.levels || [])].reverse().map((l) => [l, l])]);
  if (!form.name.value || p.jobs.some((j) => j.id === form.name.value)) form.name.value = freeName();
  if (!$('quota').contains(document.activeElement)) $('quota').replaceChildren(p.queues.length ? quotaTable(p, act) : el('p', { class: 'quiet' }, 'No queues. Make one with a line of script: queue research guarantee=gpu:8'));
  if (!$('policy').contains(document.activeElement)) showPolicy();
}

function options(select, list) {
  const key = JSON.stringify(list);
  if (select.dataset.key === key) return;
  select.dataset.key = key;
  const was = select.value;
  select.replaceChildren(...list.map(([value, text]) => el('option', { value }, text)));
  if (list.some(([value]) => value === was)) select.value = was;
}

function freeName() {
  const taken = new Set([...lab.picture.jobs.map((j) => j.id), ...(lab.picture.ended || []).map((e) => e.job)]);
  for (let n = 1; ; n++) if (!taken.has(`mine${n}`)) return `mine${n}`;
}

// policyKeys are those in force at the step that is shown, as in a script.
function policyKeys() {
  const fixed = /^(levels|island|rail|oversubscription|limit-[a-z]+)=/;
  for (let i = lab.status.step - 1; i >= 0; i--) {
    const [, command, rest] = /^(?:advance .*\n)?(policy|config)\b ?(.*)$/.exec(lab.log[i].did) || [];
    if (command) return rest.split(/\s+/).filter((w) => w && !fixed.test(w)).join(' ');
  }
  return '';
}

const policyFields = ['preemption', 'defragmentation', 'locality', 'reserve-after', 'min-run', 'cooldown'];

function showPolicy() {
  const form = $('policy'), keys = policyKeys();
  form.keys.value = keys;
  for (const f of policyFields) form[f].value = keys.split(' ').find((w) => w.startsWith(f + '='))?.slice(f.length + 1) || '';
}

// --- what is selected ---

function select(selected) {
  lab.selected = selected;
  inTurn(async () => {
    await detail(true);
    show();
    if (selected && innerWidth <= 1000) $('detail').scrollIntoView({ block: 'center' });
  });
}

let detailed = 0;
// detail shows what is selected. While time is played, not at every picture.
async function detail(at_once) {
  if (!at_once && lab.playing && performance.now() - detailed < 400) return;
  detailed = performance.now();
  const s = lab.selected, p = lab.picture;
  let shown = null;
  try {
    if (s?.kind === 'job') shown = jobDetail(await core.ask({ do: 'explain', job: s.job }), p, act);
    const node = s && s.kind !== 'job' && p.nodes.find((n) => n.id === s.node);
    if (node && s.kind === 'gpu' && s.gpu < node.gpus.length) shown = gpuDetail(node, s.gpu, await core.ask({ do: 'device', node: s.node, gpu: s.gpu }), p, act);
    else if (node) shown = nodeDetail(node, node.gpus.length && (await core.ask({ do: 'device', node: s.node, gpu: 0 })).mended, act);
  } catch (error) {
    const ended = (p.ended || []).find((e) => e.job === s.job);
    shown = { nodes: [el('h3', {}, s.job || s.node), el('p', { class: 'quiet' }, s.kind !== 'job' ? error.message : ended ? `It ${ended.how === 'finished' ? 'finished' : 'was ' + ended.how} at ${clock(ended.at)}.` : 'It is not there at this instant.')], marked: {} };
  }
  marked = shown?.marked || {};
  const box = $('detail');
  box.classList.toggle('card', !!shown);
  const opened = [...box.querySelectorAll('details')].map((d) => d.open), focused = box.contains(document.activeElement);
  box.replaceChildren(...(shown ? [el('button', { type: 'button', class: 'close', 'aria-label': 'Close', click: () => select(null) }, '✕'), ...shown.nodes] : [el('p', { class: 'quiet hint' }, 'Select a job to see why it waits and what would help, or a GPU to see what goes with it.')]));
  box.querySelectorAll('details').forEach((d, i) => { d.open = opened[i] || false; });
  if (focused) box.querySelector('button')?.focus({ preventScroll: true });
  picture.mark(p, marked);
}

// --- forms and buttons ---

$('play').onclick = play;
$('step').onclick = () => forward(1);
$('back').onclick = () => forward(-1);
$('start').onclick = () => { pause(); inTurn(() => toStep(opening())); };
$('slider').oninput = (e) => { pause(); scrub(+e.target.value); };
$('undo').onclick = undo;
$('as-table').onclick = () => {
  const on = $('table').hidden;
  $('table').hidden = !on;
  $('picture').hidden = on;
  $('marks').hidden = on;
  $('as-table').setAttribute('aria-pressed', on);
  if (on) $('table').replaceChildren(table(lab.picture));
};

$('submit').addEventListener('submit', (e) => {
  e.preventDefault();
  const f = new FormData(e.target), what = f.get('what'), words = [`job ${f.get('name')} queue=${f.get('queue')}`];
  if (+f.get('members') > 1) words.push(`members=${f.get('members')}`);
  words.push(what);
  if (what.startsWith('share=')) words.push('mode=mps');
  if (f.get('runtime')) words.push(`runtime=${f.get('runtime')}`);
  if (f.get('required')) words.push(`required=${f.get('required')}`);
  if (f.get('class') !== 'batch') words.push(`class=${f.get('class')}`);
  if (+f.get('priority')) words.push(`priority=${+f.get('priority')}`);
  if (f.get('checkpoint')) words.push('checkpoint=1m restart=1m');
  lab.selected = { kind: 'job', job: f.get('name') };
  act(words.join(' '));
});

$('command').addEventListener('submit', (e) => {
  e.preventDefault();
  const line = $('line').value.trim();
  if (line) act(line).then(() => { if (!$('status').classList.contains('bad')) $('line').value = ''; });
});

for (const f of policyFields) {
  $('policy')[f].addEventListener('change', (e) => {
    const rest = $('policy').keys.value.split(/\s+/).filter((w) => w && !w.startsWith(f + '='));
    if (e.target.value) rest.push(`${f}=${e.target.value}`);
    $('policy').keys.value = rest.join(' ');
  });
}
$('policy').addEventListener('submit', (e) => {
  e.preventDefault();
  act(`policy ${$('policy').keys.value}`.trim());
});

$('share').onclick = () => inTurn(async () => {
  const fragment = await pack({ text: lab.text, title: lab.title, step: lab.status.step, at: Math.floor(lab.at) });
  history.replaceState(null, '', fragment);
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  say(`${copied ? 'The link is copied' : 'The link is in the address bar'}: ${location.href.length.toLocaleString('en')} characters, the whole scenario and this instant in them.`);
});

$('script').onclick = () => { pause(); $('text').value = lab.text; $('editor').showModal(); };
$('load').onclick = () => {
  $('editor').close();
  const text = $('text').value;
  lab.undo.push({ text: lab.text, title: lab.title, step: lab.status?.step, at: lab.at });
  lab.deaths = 0;
  inTurn(() => open(text, lab.title.replace(/( \(changed\))?$/, ' (changed)')));
};
$('save-text').onclick = () => download('scenario.txt', $('text').value);
$('save-transcript').onclick = () => inTurn(async () => download('transcript.txt', (await core.ask({ do: 'transcript' })).text));
$('journal').onclick = () => inTurn(async () => {
  const { journal } = await core.long({ do: 'journal' }, (s) => { say(`Writing the journal: step ${s.step} of ${lab.status.step}`); });
  download('berth-journal.jsonl', journal);
  say(`The journal has ${plural(journal.trim().split('\n').length, 'line')}, up to this instant. go run ./examples/replay -journal FILE plays it again.`);
});
$('compare').onclick = () => { pause(); versus.open(lab.text, policyKeys()); };

document.addEventListener('keydown', (e) => {
  if (e.target.closest('input, select, textarea, button, dialog, summary') && e.key !== 'Escape') return;
  if (e.key === ' ') { e.preventDefault(); play(); }
  if (e.key === 'ArrowRight') forward(1);
  if (e.key === 'ArrowLeft') forward(-1);
});

// --- the list of scenarios ---

$('open').onclick = () => { pause(); listStories(''); $('stories').showModal(); };
$('find').oninput = (e) => listStories(e.target.value);

$('file').onchange = async (e) => {
  const chosen = [...e.target.files];
  e.target.value = '';
  if (!chosen.length) return;
  $('stories').close();
  inTurn(async () => {
    say('Reading the files…');
    const files = await Promise.all(chosen.map(async (f) => ({ name: f.name, text: await textOf(f) })));
    const { text } = await core.ask({ do: 'files', files });
    lab.undo = [];
    lab.deaths = 0;
    await open(text, chosen.map((f) => f.name).join(', '));
  });
};

const largest = 64 << 20;

// textOf reads a file, which may be compressed with gzip.
async function textOf(file) {
  if (file.size > largest) throw new Error(`${file.name} has ${plural(file.size, 'byte')}; the lab reads files up to ${largest >> 20} MiB. Use berthbench week for this one.`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function listStories(sought) {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = lab.stories.filter((s) => words.every((w) => (s.name + ' ' + s.title + ' ' + s.text).toLowerCase().includes(w)));
  const groups = Map.groupBy ? Map.groupBy(found, (s) => s.group) : found.reduce((m, s) => m.set(s.group, [...(m.get(s.group) || []), s]), new Map());
  $('stories-list').replaceChildren(...[...groups].flatMap(([group, list]) => [el('h3', {}, `${group} (${list.length})`), el('ul', {}, ...list.map((s) => el('li', {},
    el('button', { type: 'button', 'data-story': s.name, click: () => { $('stories').close(); choose(s); } }, heading(s.name), el('small', {}, s.title)))))]));
}

const heading = (name) => name.replace(/^\d+-/, '').replaceAll('-', ' ').replace(/^./, (c) => c.toUpperCase()).replace(/\b(gpus?|mig|mps|amd|xid)\b/gi, (w) => w.toUpperCase().replace(/GPUS/, 'GPUs'));

function choose(s) {
  lab.undo = [];
  lab.deaths = 0;
  history.replaceState(null, '', location.pathname);
  return inTurn(() => open(s.text, heading(s.name)));
}

async function begin() {
  say('');
  lab.stories = await (await fetch('stories.json')).json();
  await core.ready;
  let linked = null;
  try {
    linked = await unpack(location.hash);
  } catch (error) {
    say(`The link cannot be read (${error.message}); here is the first scenario instead.`, true);
  }
  if (linked) await inTurn(() => open(linked.text, linked.title || 'A shared scenario', { step: linked.step, at: linked.at }));
  else await choose(lab.stories[0]);
  document.body.dataset.ready = 'yes';
}

window.addEventListener('hashchange', () => location.reload());

// For the scripted visit: it ends the core's program as a defect would.
window.endTheCore = () => core.raw('panic').catch(() => {});

begin().catch((error) => say(`The lab cannot start: ${error.message}`, true));
