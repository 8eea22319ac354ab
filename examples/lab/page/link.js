// A link holds the whole scenario and the step at which it stands, compressed, in its fragment:
// no server ever sees it.

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function pack(scenario) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(scenario)), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const b of bytes) binary += String.fromCharCode(b);
  return '#s=' + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export async function unpack(fragment) {
  if (!fragment.startsWith('#s=')) return null;
  const binary = atob(fragment.slice(3).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = await through(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream('deflate-raw'));
  const scenario = JSON.parse(new TextDecoder().decode(bytes));
  if (typeof scenario.text !== 'string') throw new Error('the link holds no scenario');
  return scenario;
}
