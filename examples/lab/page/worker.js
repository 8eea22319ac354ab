// The worker holds the scheduling core. A message is a request, a string with a number; so is the
// answer. When the core's program ends, it says so and is of no further use.
'use strict';
importScripts('wasm_exec.js');

let said = ''; // what the program wrote to its standard error: a panic
console.error = console.log = (...words) => { said += words.join(' ') + '\n'; };

async function start() {
  const packed = await fetch('lab.wasm.gz');
  if (!packed.ok) throw new Error('lab.wasm.gz: ' + packed.status);
  const inflated = packed.body.pipeThrough(new DecompressionStream('gzip'));
  const bytes = await new Response(inflated, { headers: { 'Content-Type': 'application/wasm' } }).arrayBuffer();
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject);
  go.run(instance).then(() => died('the program ended'), (e) => died(String(e)));
}

let dead = false;

function died(why) {
  if (dead) return;
  dead = true;
  postMessage({ died: (said.trim().split('\n').slice(0, 3).join('\n') || why) });
  close();
}

globalThis.berthReady = () => postMessage({ ready: true });

onmessage = ({ data }) => {
  try {
    const answer = globalThis.berthAnswer(data.request);
    if (typeof answer === 'string') postMessage({ id: data.id, answer });
    else died('the program ended in the middle of a request');
  } catch (e) {
    died(String(e));
  }
};

start().catch((e) => died(String(e)));
