// The panels beside the picture: jobs, what is selected, queues.
import { el, clock, gpus, gpuTime, hue, plural, replica } from './words.js';

const states = { pending: 'waits', binding: 'starting', running: 'runs', repairing: 'repairing', releasing: 'stopping' };

// rough is a span for a list: seconds do not matter in hours.
const rough = (ms) => clock(ms >= 3600000 ? ms - ms % 60000 : ms);

// jobList is a table of what waits, what runs and what has ended.
export function jobList(picture, selected, onselect) {
  const now = picture.now, waiting = [], placed = [];
  for (const j of picture.jobs) for (const r of j.replicas) (r.state === 'pending' ? waiting : placed).push([j, r]);
  const row = ([j, r]) => {
    const when = r.state === 'pending' ? rough(now - r.since) : r.state !== 'running' ? states[r.state] : r.end ? `${rough(Math.max(0, r.end - now))} left` : `for ${rough(now - r.since)}`;
    const name = replica(j.id, r.number) + (r.alike ? ` and ${r.alike} more` : '');
    return el('tr', { class: selected === j.id && 'selected' },
      el('th', { scope: 'row' }, el('button', { type: 'button', 'data-job': j.id, click: () => onselect(j.id), style: { '--job': hue(j.id) } }, name)),
      el('td', {}, j.asks), el('td', {}, j.queue), el('td', {}, when));
  };
  const part = (title, list, limit) => {
    if (!list.length) return null;
    return el('table', { class: 'jobs' }, el('caption', {}, `${title} (${list.length})`), el('tbody', {}, ...list.slice(0, limit).map(row)),
      list.length > limit && el('tfoot', {}, el('tr', {}, el('td', { colspan: 4 }, `and ${list.length - limit} more`))));
  };
  const ended = (picture.ended || []).slice(-8).reverse();
  const out = [part('Waiting', waiting, 30), part('Placed', placed, 30)];
  if (ended.length) {
    out.push(el('table', { class: 'jobs' }, el('caption', {}, 'Ended'), el('tbody', {}, ...ended.map((e) => el('tr', {}, el('th', { scope: 'row' }, e.job), el('td', { colspan: 3 }, `${e.how} at ${clock(e.at)}`))))));
  }
  if (!out.some(Boolean)) out.push(el('p', { class: 'quiet' }, 'No jobs. Submit one below.'));
  return out.filter(Boolean);
}

const victim = (v) => el('li', {}, el('b', {}, replica(v.job, v.replica)), ` of queue ${v.queue}, ${gpus(v.gpuMilli)}`,
  v.members ? `, ${plural(v.members, 'member')} of it` : '', v.costGPUMilliseconds ? `, loses ${gpuTime(v.costGPUMilliseconds)}` : '', v.deadline ? `, by ${clock(v.deadline)}` : '');
const move = (m) => el('li', {}, el('b', {}, replica(m.job, m.replica)), `, ${gpus(m.gpuMilli)}: ${m.from.join(' ')} → ${m.to.join(' ')}`);

function list(title, items, draw) {
  return items?.length ? [el('h4', {}, title), el('ul', {}, ...items.map(draw))] : [];
}

function fact(name, ...value) { return [el('dt', {}, name), el('dd', {}, ...value)]; }

const sentence = (text) => text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.') : '';

// jobDetail says where a job stands and why, and returns what to mark in the picture.
export function jobDetail(answer, picture, act) {
  const e = answer.explanation;
  const waiting = e.replicas.find((r) => r.reason);
  const first = waiting || e.replicas[0];
  const marked = { jobs: e.replicas.map((r) => replica(e.job, r.replica)), victims: [], moves: [], targets: [] };
  const job = picture.jobs.find((j) => j.id === e.job);
  const out = [el('h3', {}, el('i', { class: 'swatch', style: { '--job': hue(e.job) } }), e.job,
    el('small', {}, ` ${first ? states[first.state] : 'has no replicas'}`)),
  el('p', { class: 'quiet' }, `${job ? job.asks + ', ' : ''}queue ${e.queue}, ${e.class}`)];
  const loan = loans(e, job, picture);
  if (waiting) {
    why(waiting, answer, out, marked);
    if (loan.length) out.push(el('dl', {}, ...loan));
  } else if (first) out.push(placed(first, loan));
  const buttons = [el('button', { type: 'button', click: () => act(`cancel ${e.job}`) }, 'Cancel the job')];
  const runs = e.replicas.find((r) => r.state === 'running');
  if (runs) {
    const m = runs.members[0];
    buttons.push(el('button', { type: 'button', click: () => act(`member-failed ${replica(e.job, runs.replica)} ${m.group || ''}[${m.index}]`) }, 'Crash a member'));
  }
  out.push(el('p', { class: 'row' }, ...buttons));
  out.push(el('details', {}, el('summary', {}, 'All of it, as a script prints it'), el('pre', {}, answer.text)));
  return { nodes: out, marked };
}

function forecast({ earliest, middle, late }) {
  return fact('Expected to start', `at ${clock(middle)}`, earliest < middle ? `, at the earliest at ${clock(earliest)}` : '', `, late at ${clock(late)}`);
}

function why(r, answer, out, marked) {
  const reason = r.reason, plan = answer.plan;
  const names = (vs) => (vs || []).map((v) => replica(v.job, v.replica));
  out.push(el('dl', {},
    ...fact('Why it waits', sentence(reason.text), reason.preemption ? ' ' + sentence(reason.preemption) : ''),
    ...fact('What would help', sentence(reason.remedy)),
    ...(plan ? fact('What it takes', sentence(plan.text), plan.costGPUMilliseconds ? ` It costs ${gpuTime(plan.costGPUMilliseconds)}.` : '', plan.movesCostGPUMilliseconds ? ` It costs ${gpuTime(plan.movesCostGPUMilliseconds)}.` : '') : []),
    ...(reason.expectedStart ? forecast(reason.expectedStart) : []),
    ...(reason.until ? fact('Tried again', `at ${clock(reason.until)}`) : []),
    ...(reason.reservation ? fact('Reserved for it', `${reason.reservation.nodes.join(' ')}, from ${clock(reason.reservation.from)}`) : []),
    ...(r.position ? fact('In its queue', `number ${r.position} in the order of service`) : [])));
  const victims = plan?.victims?.length ? plan.victims : reason.victims || [];
  const potential = victims.length ? [] : reason.potentialVictims || [];
  const moves = plan?.moves?.length ? plan.moves : reason.moves || [];
  out.push(...list('Victims, marked in the picture', victims, victim), ...list('Would be victims', potential, victim), ...list('Moves, marked in the picture', moves, move));
  marked.victims.push(...names(victims), ...names(potential));
  marked.moves.push(...names(moves));
  marked.targets.push(...moves.flatMap((m) => m.to), ...(reason.reservation?.nodes || []));
  if (reason.levels?.length) {
    out.push(el('details', {}, el('summary', {}, 'Where it was tried'), el('ul', {}, ...reason.levels.map((l) => el('li', {}, `${l.level}: ${l.domainsLargeEnough} of ${l.domains} have enough GPUs`,
      ...(l.shortfalls || []).map((s) => `; ${s.domains} short of ${s.what}`), l.best ? `; the best, ${l.best}, fits ${l.membersFit} of ${l.membersNeeded}` : '')))));
  }
}

function placed(r, loan) {
  const nodes = [...new Set((r.members || []).map((m) => m.node))];
  return el('dl', {},
    ...fact('On', nodes.length > 12 ? `${nodes.slice(0, 12).join(' ')} and ${nodes.length - 12} more nodes` : nodes.join(' ')),
    ...fact('Since', clock(r.since)),
    ...(r.expectedEnd ? fact('Expected to end', `at ${clock(r.expectedEnd)}`) : []),
    ...(r.beneficiary ? fact('Is being evicted for', replica(r.beneficiary.job, r.beneficiary.replica)) : []),
    ...(r.departure ? fact('Has to leave', r.departure.to?.length ? `for ${r.departure.to.join(' ')}` : 'and has no other place yet') : []),
    ...(r.bandwidth?.allReduceMBps ? fact('All-reduce', `${r.bandwidth.allReduceMBps / 1000} GB/s of ${r.bandwidth.bestMBps / 1000}`) : []),
    ...(r.incarnation > 1 ? fact('Lives', `${r.incarnation}: it was started ${r.incarnation} times`) : []), ...loan);
}

// loans says what a job lends, to whom, and what it borrows.
function loans(e, job, picture) {
  const names = (refs) => [...new Set(refs.map((b) => replica(b.job, b.replica)))].join(', ');
  const to = names(e.replicas.filter((r) => r.lentMilli).flatMap((r) => r.borrowers || []));
  const back = names(e.replicas.filter((r) => !r.lentMilli).flatMap((r) => r.borrowers || []));
  const lent = e.replicas.reduce((sum, r) => sum + (r.lentMilli || 0), 0);
  const out = [];
  if (job?.lend) {
    out.push(...fact('Lends', lent ? `${gpus(lent)} that it leaves idle` : 'nothing now: it is at work, or was quiet too short a time'),
      ...(to ? fact('Lends to', to) : []), ...(back ? fact('Is given back by', back) : []),
      ...fact('Has them back', job.lend.within ? `within ${job.lend.within} of being busy` : 'as soon as it is busy'));
  }
  const cells = picture.nodes.flatMap((n) => n.gpus).map((g) => g.parts || []).filter((parts) => parts.some((p) => p.borrowed && p.job === e.job));
  const by = e.replicas.map((r) => r.giveBackBy).find(Boolean);
  if (cells.length) out.push(...fact('Borrows from', names(cells.flat().filter((p) => !p.borrowed)) || 'a job that is gone'));
  if (by) out.push(...fact('Gives back', `by ${clock(by)}`));
  return out;
}

// gpuDetail says what a GPU holds and what goes with it.
export function gpuDetail(node, index, device, picture, act) {
  const b = device.blast || {}, g = node.gpus[index];
  const hit = (list) => list?.length ? list.map((a) => `${replica(a.job, a.replica)} ${a.down ? 'stops' : 'loses ' + plural(a.members, 'member')}`).join(', ') : 'nothing';
  const out = [el('h3', {}, `${node.id}, GPU ${index}`, el('small', {}, device.lost ? ' node lost' : g.failed ? ' failed' : g.mode ? ` ${g.mode}` : '')),
    el('p', { class: 'quiet' }, `${device.gpu.product}${device.gpu.memoryMiB ? `, ${device.gpu.memoryMiB / 1024} GiB` : ''}${node.pool ? `, pool ${node.pool}` : ''}`)];
  const holders = (g.parts || []).map((p) => `${replica(p.job, p.replica)}${p.member}${p.instance ? ` in ${p.instance}` : p.milli ? `, ${p.milli}/1000` : ''}, ${p.phase}${p.idle ? ' and idle' : ''}${p.borrowed ? ', on loan' : ''}${p.givesBack ? ', to be given back' : ''}`);
  if (!device.lost) {
    out.push(el('dl', {}, ...fact('Held by', holders.join('; ') || 'nobody'), ...fact('If this GPU fails', sentence(hit(b.device))),
      ...(b.processes?.length > 1 ? fact('If a process crashes', ...b.processes.map((p) => el('div', {}, `${replica(p.job, p.replica)}: ${hit(p.affected)}`))) : [])));
  }
  const buttons = [];
  if (device.mended) buttons.push(el('button', { type: 'button', click: () => act(device.mended) }, device.lost ? `Bring ${node.id} back` : 'Repair this GPU'));
  if (!device.lost && !g.failed) buttons.push(el('button', { type: 'button', class: 'danger', click: () => act(`fail-gpu ${node.id} ${index} because of the lab`) }, 'Fail this GPU'));
  for (const p of device.lost ? [] : (g.parts || []).filter((p) => picture.jobs.find((j) => j.id === p.job)?.lend)) {
    const name = replica(p.job, p.replica);
    buttons.push(el('button', { type: 'button', click: () => act(`activity ${name} ${p.idle ? 800 : 10}`) }, p.idle ? `Have ${name} be busy` : `Have ${name} be idle`));
  }
  out.push(el('p', { class: 'row' }, ...buttons, ...(device.lost ? [] : nodeButtons(node, act))));
  return { nodes: out, marked: { chosen: { node: node.id, gpu: index }, jobs: holders.length ? (g.parts || []).map((p) => replica(p.job, p.replica)) : [], victims: (b.device || []).map((a) => replica(a.job, a.replica)) } };
}

function nodeButtons(node, act) {
  const marks = node.marks || [], closed = marks.includes('cordoned') || marks.includes('draining');
  return [
    el('button', { type: 'button', class: 'danger', click: () => act(`lose ${node.id} because of the lab`) }, `Break ${node.id}`),
    closed ? el('button', { type: 'button', click: () => act(`uncordon ${node.id}`) }, 'Uncordon') : el('button', { type: 'button', click: () => act(`cordon ${node.id} because of the lab`) }, 'Cordon'),
    !marks.includes('draining') && el('button', { type: 'button', click: () => act(`drain ${node.id} because of the lab`) }, 'Drain'),
  ].filter(Boolean);
}

// nodeDetail says what a node holds.
export function nodeDetail(node, mended, act) {
  const lost = node.marks?.includes('lost');
  const jobs = [...new Set([...node.gpus.flatMap((g) => g.parts || []), ...(node.hosted || [])].map((p) => replica(p.job, p.replica)))];
  const out = [el('h3', {}, `Node ${node.id}`, el('small', {}, ' ' + (node.marks || []).join(', '))),
    el('p', { class: 'quiet' }, `${node.gpus.length} × ${node.product || 'no GPU'}${node.domains ? ', ' + node.domains.join(' / ') : ''}${node.reason ? ', ' + node.reason : ''}`),
    el('dl', {}, ...fact('Holds members of', jobs.join(', ') || 'no job'), ...fact('GPUs free', `${node.gpus.filter((g) => !g.parts && !g.failed).length} of ${node.gpus.length}`)),
    el('p', { class: 'row' }, ...(lost ? [el('button', { type: 'button', click: () => act(mended) }, `Bring ${node.id} back`)] : nodeButtons(node, act)))];
  return { nodes: out, marked: { chosen: { node: node.id }, jobs } };
}

const amount = (a) => a?.gpuMilli === undefined ? '' : a.gpuMilli / 1000;

// quotaTable has a row for each queue, with what may be changed.
export function quotaTable(picture, act) {
  const fair = new Map((picture.report.queues || []).map((q) => [q.queue, q]));
  const rows = picture.queues.map((s) => {
    const q = s.queue, used = s.usedMilli, most = Math.max(used, q.guarantee?.gpuMilli || 0, q.limit?.gpuMilli || 0, 1);
    const input = (name, value, label) => el('input', { type: 'number', min: 0, step: 'any', value, 'data-field': name, 'aria-label': `${label} of queue ${q.name}` });
    const row = el('tr', { 'data-queue': q.name },
      el('th', { scope: 'row' }, q.name, el('meter', { min: 0, max: most, value: used, 'aria-label': `used by ${q.name}` })),
      el('td', {}, used / 1000), el('td', {}, s.waitingReplicas || fair.get(q.name)?.waitingReplicas || 0),
      el('td', {}, input('guarantee', amount(q.guarantee), 'Guarantee')), el('td', {}, input('limit', amount(q.limit), 'Limit')), el('td', {}, input('weight', q.weight || '', 'Weight')),
      el('td', {}, el('button', { type: 'button', click: () => act(queueLine(q, row)) }, 'Set')));
    return row;
  });
  return el('table', { class: 'quota' }, el('thead', {}, el('tr', {}, ...['Queue', 'Uses', 'Waiting', 'Guarantee', 'Limit', 'Weight', ''].map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, ...rows));
}

// queueLine is the event that replaces a queue by what its row says, and keeps the rest of it.
function queueLine(q, row) {
  const changed = structuredClone(q);
  for (const i of row.querySelectorAll('input')) {
    const field = i.dataset.field;
    if (field === 'weight') changed.weight = i.value ? Math.round(+i.value) : undefined;
    else {
      changed[field] = { ...changed[field], gpuMilli: i.value === '' ? undefined : Math.round(i.value * 1000) };
    }
  }
  return 'json ' + JSON.stringify({ queueSet: { queue: changed } });
}
