// The way to the core in its worker: requests as promises, long ones in slices.

const sliceMS = 40; // a slice that takes longer gets fewer steps next time

export class Core {
  // ondeath is called with the reason when the worker died; what was asked then fails.
  constructor(ondeath) {
    this.ondeath = ondeath;
    this.start();
  }

  start() {
    this.waiting = new Map();
    this.next = 1;
    this.steps = 50;
    const worker = this.worker = new Worker('worker.js');
    this.ready = new Promise((resolve, reject) => {
      worker.onerror = (e) => { reject(new Error(e.message)); if (worker === this.worker) this.dead(e.message); };
      worker.onmessage = ({ data }) => {
        if (worker !== this.worker) return; // the last words of one that is replaced
        if (data.ready) resolve();
        else if (data.died) { reject(new Error(data.died)); this.dead(data.died); }
        else {
          const waiting = this.waiting.get(data.id);
          this.waiting.delete(data.id);
          const answer = JSON.parse(data.answer);
          if (answer.error) waiting.reject(new Error(answer.error));
          else waiting.resolve(answer);
        }
      };
    });
    this.ready.catch(() => {});
  }

  dead(why) {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new Error('the core ended: ' + why));
    this.waiting.clear();
    this.ondeath(why);
  }

  async raw(request) {
    await this.ready;
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, request });
    });
  }

  ask(request) { return this.raw(JSON.stringify({ world: 'main', ...request })); }

  // long repeats a request until it has reached what it asks for. onslice sees each status, and
  // stops it by returning false.
  async long(request, onslice) {
    for (;;) {
      const before = performance.now();
      const status = await this.ask({ ...request, steps: this.steps });
      const took = performance.now() - before;
      this.steps = Math.max(1, Math.min(5000, Math.round(this.steps * Math.max(0.25, Math.min(2, sliceMS / (took + 1))))));
      if (status.reached || (onslice && onslice(status) === false)) return status;
    }
  }
}
