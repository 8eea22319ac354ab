// Small things that every part of the page uses.

export const $ = (id) => document.getElementById(id);

// el makes an element. Properties that are functions are listeners, and false ones are left out.
export function el(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === 'function') e.addEventListener(key, value);
    else if (key === 'style') for (const [name, v] of Object.entries(value)) e.style.setProperty(name, v);
    else if (value === true) e.setAttribute(key, '');
    else if (value !== false && value != null) e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c != null && c !== false));
  return e;
}

// clock prints a span in milliseconds, as in 1h05m or 20s.
export function clock(ms) {
  const s = Math.floor(ms / 1000), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  const two = (n) => String(n).padStart(2, '0');
  if (h >= 48) return `${Math.floor(h / 24)}d ${two(h % 24)}h${two(m)}m`;
  if (h) return s % 60 ? `${h}h${two(m)}m${two(s % 60)}s` : `${h}h${two(m)}m`;
  if (m) return s % 60 ? `${m}m${two(s % 60)}s` : `${m}m`;
  return `${s}s`;
}

// gpus prints thousandths of a GPU.
export function gpus(milli) {
  const n = (milli / 1000).toLocaleString('en', { maximumFractionDigits: 2 });
  return milli === 1000 ? '1 GPU' : `${n} GPUs`;
}

// gpuTime prints GPU-milliseconds.
export function gpuTime(ms) {
  const h = ms / 3600000;
  if (h >= 10) return `${Math.round(h).toLocaleString('en')} GPU-hours`;
  if (h >= 1) return `${h.toFixed(1)} GPU-hours`;
  return `${Math.round(ms / 60000)} GPU-minutes`;
}

export const replica = (job, n) => (n ? `${job}/${n}` : job);

// hue is the colour of a job, by the order in which jobs were met: each is far from the one before.
const hues = new Map();
export function hue(job) {
  if (!hues.has(job)) hues.set(job, Math.round(212 + hues.size * 137.5) % 360);
  return `hsl(${hues.get(job)} var(--job-s) var(--job-l))`;
}
export const forgetHues = () => hues.clear();

export function plural(n, noun) { return n === 1 ? `1 ${noun}` : `${n} ${noun}s`; }

export function download(name, text) {
  const a = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/plain' })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
