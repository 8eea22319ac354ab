// The picture of the fleet at the instant that the slider says.
(() => {
  const $ = (id) => document.getElementById(id);
  const film = JSON.parse($('film-data').textContent), canvas = $('film'), slider = $('film-slider'), tip = $('film-tip');
  const count = film.Islands.reduce((n, i) => n + i.Nodes.reduce((m, x) => m + x.GPUs, 0), 0);
  const cells = new Int32Array(count);
  let shown = -1, chosen = '', boxes = [], timer = 0;

  // seek brings the cells to a frame: each says only what changed.
  function seek(to) {
    if (to < shown) { shown = -1; cells.fill(0); }
    while (shown < to) {
      const runs = film.Frames[++shown].Runs;
      for (let i = 0; i < runs.length; i += 3) cells.fill(runs[i + 2], runs[i], runs[i] + runs[i + 1]);
    }
  }

  // arrange finds a place for every node: islands side by side as the window allows.
  function arrange() {
    const wide = canvas.parentElement.clientWidth - 40, gap = 14, head = 16;
    const most = Math.max(...film.Islands.map((i) => i.Nodes.length));
    const columns = most > 64 ? 1 : wide > 900 ? 4 : wide > 480 ? 2 : 1;
    const across = Math.min(most, most > 64 ? Math.max(8, Math.floor(wide / 34)) : 8);
    const perNode = Math.max(...film.Islands.flatMap((i) => i.Nodes.map((n) => Math.ceil(n.GPUs / 2))));
    const room = (wide - gap * (columns - 1)) / columns;
    const pitch = Math.max(2.5, Math.min(11, (room / across - 4) / perNode));
    boxes = [];
    let gpu = 0, y = 0, low = 0;
    film.Islands.forEach((island, i) => {
      const x = (i % columns) * (room + gap);
      if (i % columns === 0) y = low + (i ? gap : 0);
      boxes.push({ name: `${island.Name}: ${island.Nodes.length} nodes`, x, y });
      island.Nodes.forEach((node, k) => {
        boxes.push({ node: node.ID, gpus: node.GPUs, first: gpu, pitch, x: x + (k % across) * (pitch * perNode + 4), y: y + head + Math.floor(k / across) * (2 * pitch + 4) });
        gpu += node.GPUs;
      });
      low = Math.max(low, y + head + Math.ceil(island.Nodes.length / across) * (2 * pitch + 4));
    });
    const scale = devicePixelRatio || 1;
    canvas.width = wide * scale; canvas.height = (low + 2) * scale;
    canvas.style.width = wide + 'px'; canvas.style.height = low + 2 + 'px';
    canvas.getContext('2d').setTransform(scale, 0, 0, scale, 0, 0);
  }

  const place = (box, g) => { const wide = Math.ceil(box.gpus / 2); return [box.x + (g % wide) * box.pitch, box.y + Math.floor(g / wide) * box.pitch]; };

  function draw() {
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
    const kinds = film.Categories.map((_, i) => colour('--c' + i)), free = colour('--free'), failed = colour('--failed'), soft = colour('--soft'), ink = colour('--ink');
    const c = canvas.getContext('2d');
    c.clearRect(0, 0, canvas.width, canvas.height);
    c.font = '11px system-ui, sans-serif';
    for (const box of boxes) {
      if (box.name) { c.fillStyle = soft; c.fillText(box.name, box.x, box.y + 11); continue; }
      let flagged = '';
      for (let g = 0; g < box.gpus; g++) {
        const [x, y] = place(box, g), content = film.Contents[cells[box.first + g]], size = box.pitch - 1;
        if (content.Flags === 'lost') { c.strokeStyle = soft; c.lineWidth = 0.6; c.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1); flagged = flagged || 'lost'; continue; }
        c.fillStyle = content.Flags === 'failed' ? failed : free;
        c.fillRect(x, y, size, size);
        let from = y + size;
        (content.Milli || []).forEach((milli, i) => {
          const tall = size * milli / 1000;
          c.fillStyle = kinds[content.Kinds[i]];
          c.fillRect(x, from -= tall, size, tall);
        });
        if (content.Flags) flagged = content.Flags;
        if (chosen && (content.Names || []).some((n) => n.startsWith(chosen + '/'))) { c.strokeStyle = ink; c.lineWidth = 1.6; c.strokeRect(x + 0.3, y + 0.3, size - 0.6, size - 0.6); }
      }
      if (flagged && flagged !== 'lost') { c.strokeStyle = failed; c.lineWidth = 1.2; c.strokeRect(box.x - 1.5, box.y - 1.5, Math.ceil(box.gpus / 2) * box.pitch + 2, 2 * box.pitch + 2); }
    }
  }

  function show(to) {
    const frame = film.Frames[to];
    seek(to);
    slider.value = to;
    slider.setAttribute('aria-valuetext', frame.Clock);
    $('film-clock').textContent = frame.Clock;
    $('film-told').textContent = `${frame.Held.toLocaleString('en')} GPUs held` + (chosen ? `; ${chosen} is outlined where it has GPUs` : '') + '.';
    const list = $('film-waiting');
    list.replaceChildren(frame.Waiting ? 'Waiting longest at that instant: ' : 'Nothing waits at that instant.');
    for (const w of frame.Waiting || []) {
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = `${w.Job} (${w.About})`;
      b.title = 'Go to where it has a place';
      b.onclick = () => find(w.Job);
      list.append(b, ' ');
    }
    draw();
  }

  // find goes on to the first frame in which a job has GPUs.
  function find(job) {
    chosen = job;
    const holds = (i) => (film.Contents[i].Names || []).some((n) => n.startsWith(job + '/'));
    for (let to = shown; to < film.Frames.length; to++) {
      seek(to);
      if (cells.some(holds)) return show(to);
    }
    show(film.Frames.length - 1);
    $('film-told').textContent = `${job} waits to the end.`;
  }

  // at goes to the frame of an instant.
  function at(instant) {
    let to = 0;
    while (to + 1 < film.Frames.length && film.Frames[to + 1].At <= instant) to++;
    show(to);
  }

  function stop() { clearInterval(timer); timer = 0; $('film-play').textContent = 'Play'; }
  $('film-play').onclick = () => {
    if (timer) return stop();
    if (shown === film.Frames.length - 1) show(0);
    $('film-play').textContent = 'Pause';
    timer = setInterval(() => (shown + 1 < film.Frames.length ? show(shown + 1) : stop()), 120);
  };
  slider.oninput = () => { stop(); show(+slider.value); };
  document.addEventListener('click', (e) => {
    const mark = e.target.closest('[data-at]');
    if (!mark) return;
    stop();
    if (mark.dataset.job) chosen = mark.dataset.job;
    at(+mark.dataset.at);
  });
  canvas.onmousemove = (e) => {
    const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    for (const box of boxes) {
      for (let g = 0; g < box.gpus; g++) {
        const [left, top] = place(box, g);
        if (x < left || y < top || x >= left + box.pitch || y >= top + box.pitch) continue;
        const c = film.Contents[cells[box.first + g]];
        tip.textContent = [`${box.node}, GPU ${g}${c.Flags ? ', ' + c.Flags : ''}`, ...(c.Names || []).map((n, i) => `${n}, ${film.Categories[c.Kinds[i]]}${c.Milli[i] < 1000 ? `, ${c.Milli[i]}/1000` : ''}`), ...(c.Names || c.Flags ? [] : ['free'])].join('\n');
        tip.hidden = false;
        tip.style.left = Math.min(e.pageX + 12, document.documentElement.clientWidth - 190) + 'px';
        tip.style.top = e.pageY + 14 + 'px';
        return;
      }
    }
    tip.hidden = true;
  };
  canvas.onmouseleave = () => { tip.hidden = true; };
  const again = () => { arrange(); draw(); };
  addEventListener('resize', again);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  arrange();
  show(+slider.value);
})();
