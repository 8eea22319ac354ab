package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// helpers are functions that the visit uses in the page. They press what a visitor would press.
const helpers = `
window.q = (s) => document.querySelector(s);
window.text = (s) => q(s)?.innerText || '';
window.set = (s, value) => { const e = q(s); e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); };
window.press = (s) => { const e = q(s); if (!e) throw new Error('there is no ' + s); e.click(); };
window.says = (s) => [...document.querySelectorAll('button')].find((b) => b.innerText.trim().startsWith(s));
window.story = (name) => { press('#open'); press('[data-story="' + name + '"]'); };
window.at = () => text('#clock');
window.bring = (files) => { const list = new DataTransfer(); for (const [name, text] of Object.entries(files)) list.items.add(new File([text], name)); q('#file').files = list.files; q('#file').dispatchEvent(new Event('change')); };
window.held = () => document.querySelectorAll('#picture .gpu.running, #picture .gpu.starting').length;
`

func (v *visitor) open(url string) error {
	if err := v.call("Page.navigate", map[string]any{"url": url}, nil); err != nil {
		return err
	}
	return v.steps("?document.body?.dataset.ready", helpers)
}

func (v *visitor) opens() error {
	if err := v.window(1400, 1000, "light"); err != nil {
		return err
	}
	if err := v.open(v.url); err != nil {
		return err
	}
	return v.steps("?document.querySelectorAll('#picture .node').length === 16", "?document.querySelectorAll('#picture .gpu').length === 128",
		"?at() === '0s' && held() === 0", "?+q('#slider').max > 3600000", "?text('#caption').length > 20")
}

func (v *visitor) scrubs() error {
	return v.steps(
		"set('#slider', 1140000)", "?at() === '19m' && held() === 112",
		"press('#start')", "?at() === '0s' && held() === 0",
		"press('#step'); press('#step'); press('#step')", "?held() > 0", "press('#back')", "?held() === 0",
		"set('#speed', '3600'); press('#play')", "?q('#play').innerText === 'Pause'", "?held() > 100", "press('#play')", "?q('#play').innerText === 'Play'",
		"set('#slider', 4500000)", "?text('#jobs').includes('finetune')", "?q('#summary').innerText.includes('evicted')")
}

func (v *visitor) submits() error {
	return v.steps(
		"set('#slider', 3000000)", "?at() === '50m'",
		"set('#submit [name=name]', 'urgent'); set('#submit [name=members]', 16); set('#submit [name=queue]', 'product'); press('#submit button')",
		"?text('#status').startsWith('Done at 50m')",
		"?text('#detail').includes('Why it waits') && text('#detail').includes('What would help') && text('#detail').includes('What it takes')",
		"?text('#jobs').includes('Waiting (1)')",
		// A smaller one is within the guarantee: research has to give, which the picture shows.
		"set('#submit [name=name]', 'owed'); set('#submit [name=members]', 2); press('#submit button')",
		"?text('#detail').includes('owed')", "?document.querySelectorAll('#picture .victim').length > 0", "?/Victims/.test(text('#detail'))")
}

func (v *visitor) breaks() error {
	return v.steps(
		"set('#slider', 6960000)", "?text('#jobs').includes('Placed')",
		"press('[data-node=n05][data-gpu=\"0\"]')", "?text('#detail').includes('n05, GPU 0') && text('#detail').includes('If this GPU fails')",
		"?/stops|nothing/i.test(text('#detail'))",
		"says('Fail this GPU').click()", "?q('[data-node=n05][data-gpu=\"0\"]').classList.contains('failed')",
		"?says('Repair this GPU')", "says('Repair this GPU').click()", "?!q('[data-node=n05][data-gpu=\"0\"]').classList.contains('failed')",
		"says('Break n05').click()", "?q('.node[data-id=n05]').classList.contains('lost')",
		"?says('Bring n05 back')", "says('Bring n05 back').click()", "?!q('.node[data-id=n05]').classList.contains('lost')",
		// Undo takes it all back, one at a time.
		"press('#undo')", "?text('#status') === 'Undone.' && q('.node[data-id=n05]').classList.contains('lost')",
		"press('#undo')", "?!q('.node[data-id=n05]').classList.contains('lost')")
}

func (v *visitor) changes() error {
	return v.steps(
		"q('#quota-card').open = true; set('[data-queue=product] [data-field=limit]', 72); press('[data-queue=product] button')",
		"?q('[data-queue=product] [data-field=limit]').value === '72'",
		"q('#policy-card').open = true; set('#policy [name=preemption]', 'off')", "?q('#policy [name=keys]').value.includes('preemption=off')",
		"press('#policy button')", "?text('#status').includes('policy') && !q('#status').classList.contains('bad')",
		"set('#line', 'job nonsense qeue=product'); press('#command button')", "?q('#status').classList.contains('bad') && text('#status').includes('qeue')",
		"set('#line', 'lose n99'); press('#command button')", "?text('#printed').includes('refused, unknown')",
		"set('#line', 'fleet'); press('#command button')", "?text('#printed').includes('nodes 16') || text('#printed').includes('nodes 15')",
		"q('#quota-card').open = false; q('#policy-card').open = false")
}

func (v *visitor) moves() error {
	return v.steps(
		"story('3-moves-join-free-pieces')", "?document.querySelectorAll('#picture .node').length === 4 && at() === '0s'",
		"set('#slider', 5460000)", "?text('#jobs').includes('whole1')",
		"press('[data-job=whole1]')", "?text('#detail').includes('whole1')",
		"set('#slider', 7200000)", "?text('#summary').includes('2 moved')", "?text('#log').includes('moved for whole')")
}

func (v *visitor) parts() error {
	return v.steps(
		"story('4-parts-of-gpus')", "?document.querySelectorAll('#picture .node').length === 4",
		"set('#slider', 600000)", "?document.querySelectorAll('#picture .part.running').length >= 12",
		"?[...document.querySelectorAll('#picture .gpu')].some((g) => g.classList.contains('mig'))",
		"press('#picture .gpu.mps')", "?text('#detail').includes('If a process crashes')")
}

func (v *visitor) loans() error {
	return v.steps(
		"story('7-idle-gpus-are-lent')", "?document.querySelectorAll('#picture .node').length === 4",
		"set('#slider', 1500000)", "?held() === 32 && document.querySelectorAll('#picture .gpu.lent').length === 0", "?text('#jobs').includes('Waiting (14)')",
		// Evening: ten GPUs are lent, and drawn so; more is at work than before.
		"window.use = () => [...document.querySelectorAll('#use b')].map((b) => parseInt(b.innerText))", "window.day = use()",
		"set('#slider', 3600000)", "?document.querySelectorAll('#picture .gpu.idle.lent .part.over').length === 10", "?text('#summary').includes('10 of them lent')",
		"?use()[0] === 100 && use()[1] > day[1]", "?!q('.loans').hidden && q('#chart .lent')",
		"press('[data-job=chat]')", "?/Lends\\s*10 GPUs/.test(text('#detail')) && text('#detail').includes('sweep01')",
		"press('[data-job=sweep01]')", "?/Borrows from\\s*chat/.test(text('#detail')) && document.querySelectorAll('#picture .part.over.ring').length === 1",
		// A holder that is busy gets its GPU back by way of a checkpoint, as the log tells.
		"window.cell = document.querySelector('#picture .gpu.lent').dataset; press('#picture .gpu.lent')", "?says('Have chat')", "says('Have chat').click()",
		"?text('#detail').includes('to be given back') && document.querySelectorAll('#picture .gives-back').length === 1", "?/requestCheckpoint .*given-back/.test(text('#log'))",
		"set('#slider', 3660000)", "?/release .*given-back/.test(text('#log')) && document.querySelectorAll('#picture .gpu.lent').length === 9",
		// Side by side with a policy that lends nothing.
		"press('#compare')", "set('#versus-form [name=a]', ''); set('#versus-form [name=b]', 'quiet=off'); press('#versus-form button')", "?q('.outcome')",
		"window.cells = (t) => [...document.querySelectorAll('.outcome tr')].find((r) => r.innerText.startsWith(t)).innerText.split('\\t').slice(1)",
		"?parseFloat(cells('Of that, lent')[0]) > 30 && parseFloat(cells('Of that, lent')[1]) === 0 && +cells('Finished')[0] > +cells('Finished')[1]",
		"press('#versus form[method=dialog] button')")
}

func (v *visitor) stories() error {
	return v.steps(
		// A topology file becomes a fleet.
		"bring({ 'topology.conf': 'SwitchName=leaf1 Nodes=n[1-2]\\nSwitchName=leaf2 Nodes=n[3-4]\\nSwitchName=spine1 Switches=leaf[1-2]\\n' })",
		"?text('#title') === 'topology.conf' && document.querySelectorAll('#picture .node').length === 4 && document.querySelectorAll('#picture .domain').length === 3",
		// So do the files of a week, with its jobs. What cannot be read is said with file and line.
		"bring({ 'jobs.txt': 'JobID|Account|Submit|Start|End|Timelimit|State|ReqTRES|AllocTRES\\n"+
			"1|physics|2024-03-04T09:00:00|2024-03-04T09:00:00|2024-03-04T10:00:00|UNLIMITED|COMPLETED|cpu=8,gres/gpu:a100=4,node=1|gres/gpu:a100=4\\n1.batch|physics|2024-03-04T09:00:00|2024-03-04T09:00:00|2024-03-04T10:00:00||COMPLETED||\\n"+
			"2|physics|2024-03-04T09:01:00|2024-03-04T10:00:00|2024-03-04T11:00:00|02:00:00|COMPLETED|gres/gpu=8,node=2|gres/gpu=8,node=2\\n', "+
			"'nodes.txt': 'NodeName=gpu1 Gres=gpu:a100:4(S:0-1)\\nNodeName=gpu2 Gres=gpu:a100:4\\n', 'topology.conf': 'SwitchName=leaf1 Nodes=gpu[1-2]\\n' })",
		"?text('#title').includes('jobs.txt') && document.querySelectorAll('#picture .gpu').length === 8 && text('#caption').includes('a step of a job')",
		"set('#slider', 1800000)", "?at() === '30m' && held() === 4", "?text('#jobs').includes('Waiting (1)')",
		"bring({ 'jobs.txt': 'JobID|Account|Submit|Elapsed|ReqTRES\\n1|a|noon|1:00|gres/gpu=1\\n' })", "?q('#status').classList.contains('bad') && text('#status').includes('jobs.txt:2:5: Submit')",
		"press('#open')", "?document.querySelectorAll('[data-story]').length > 190", "set('#find', 'two-gangs')", "?document.querySelectorAll('[data-story]').length < 20", "press('.stories, #stories form button')",
		"set('#find', '')", "story('162-moves-are-ordered')", "?text('#title').startsWith('Moves are ordered') && document.querySelectorAll('#picture .node').length === 2",
		"for (let i = 0; i < 12; i++) press('#step')", "?text('#caption').length > 10", "?text('#jobs').includes('whole')",
		"press('[data-job=whole]')", "?text('#detail').includes('Reserved for it') || text('#detail').includes('runs') || text('#detail').includes('Victims')",
		"set('#slider', q('#slider').max)", "?held() === 12 || held() === 16",
		// A line in the middle gives up the rest, and Undo brings it back.
		"set('#slider', 6)", "?/step 6 of/.test(text('#place'))", "window.had = text('#place')",
		"set('#line', 'cordon n2'); press('#command button')", "?text('#status').includes('given up')", "press('#undo')", "?text('#place') === window.had")
}

func (v *visitor) compares() error {
	return v.steps(
		"story('1-two-teams')", "?document.querySelectorAll('#picture .node').length === 16", "press('#compare')",
		"set('#versus-form [name=a]', 'min-run=10m'); set('#versus-form [name=b]', 'preemption=off'); press('#versus-form button')",
		"?q('.outcome')", "window.cells = (t) => [...document.querySelectorAll('.outcome tr')].find((r) => r.innerText.startsWith(t)).innerText.split('\\t').slice(1)",
		"?+cells('Evicted')[0] > 0 && +cells('Evicted')[1] === 0", "?cells('Jobs submitted')[0] === cells('Jobs submitted')[1]",
		"?document.querySelectorAll('.both .picture').length === 2",
		"set('#versus-result input', 4800000)", "?text('#versus-result output') === '1h20m'")
}

func (v *visitor) shares() error {
	err := v.steps(
		"press('#versus form[method=dialog] button')", "set('#slider', 3600000)", "?at() === '1h00m'", "window.was = text('#jobs')",
		"set('#line', 'cordon n16 because shared'); press('#command button')", "?text('#status').startsWith('Done at 1h00m')",
		"press('#share')", "?location.hash.startsWith('#s=') && text('#status').includes('link')")
	if err != nil {
		return err
	}
	var link string
	if err := v.evaluate("location.href", &link); err != nil {
		return err
	}
	if err := v.call("Page.navigate", map[string]any{"url": "about:blank"}, nil); err != nil {
		return err
	}
	if err := v.open(link); err != nil {
		return err
	}
	return v.steps("?at() === '1h00m' && q('.node[data-id=n16]').classList.contains('cordoned')", "?text('#jobs').includes('finetune')")
}

func (v *visitor) journal() error {
	return v.steps(
		"window.saved = null; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved = t; }); return make(blob); }; 0",
		"press('#journal')", `?window.saved?.startsWith('{"version"') && window.saved.includes('nodeJoined') && window.saved.includes('bind')`,
		"?text('#status').startsWith('The journal has')")
}

func (v *visitor) keys() error {
	return v.steps(
		"q('#picture [tabindex=\"0\"]').focus()", "window.key = (k) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true }))",
		"key('ArrowRight')", "?document.activeElement.dataset.gpu === '0'", "key('ArrowRight')", "?document.activeElement.dataset.gpu === '1'",
		"window.first = document.activeElement.dataset.node; key('ArrowDown')", "?document.activeElement.dataset.gpu === '1' && document.activeElement.dataset.node !== first",
		"?document.querySelectorAll('#picture [tabindex=\"0\"]').length === 1",
		"?[...document.querySelectorAll('button, input, select, textarea')].every((e) => e.textContent.trim() || e.ariaLabel || e.labels?.length)",
		"press('#as-table')", "?document.querySelectorAll('#table tbody tr').length === 16 && q('#picture').hidden", "press('#as-table')", "?!q('#picture').hidden")
}

func (v *visitor) ends() error {
	if err := v.steps("window.was = at() + text('#place') + held()", "endTheCore(); 0", "?text('#status').includes('started again')", "?at() + text('#place') + held() === was"); err != nil {
		return err
	}
	return v.steps("set('#line', 'uncordon n16'); press('#command button')", "?text('#status').startsWith('Done')")
}

func (v *visitor) large() error {
	return v.steps(
		// What takes long shows how far it is, and can be stopped; time is known up to there.
		"press('#script')", "q('#text').value = 'node n1..n64\\nqueue q\\n' + Array.from({ length: 8000 }, (_, i) => `job j${i} queue=q gpus=1 runtime=9h\\nrun 1m\\n`).join('')",
		"press('#load')", "?!q('#busy').hidden && text('#doing').startsWith('playing ahead') && (q('#stop').click(), true)", "?text('#status').startsWith('Stopped')",
		"press('#undo')", "?text('#status') === 'Undone.'",
		"story('6-a-busy-day')", "?document.querySelectorAll('#picture .gpu').length === 1024 && at() === '0s'",
		"set('#slider', 5 * 3600000)", "?at() === '5h00m'", "?held() > 900", "?text('#jobs').includes('Waiting')",
		"press('#jobs .jobs button')", "?text('#detail').includes('Why it waits')")
}

// looks takes pictures in all sizes and lights.
func (v *visitor) looks() error {
	for _, look := range []struct {
		name     string
		prepare  []string
		w, h     int
		darkness string
	}{
		{"busy-1400-light", nil, 1400, 1000, "light"},
		{"busy-1400-dark", nil, 1400, 1000, "dark"},
		{"busy-700-light", nil, 700, 900, "light"},
		{"busy-400-light", nil, 400, 900, "light"},
		{"teams-1400-light", []string{"story('1-two-teams')", "?document.querySelectorAll('#picture .node').length === 16", "set('#slider', 3660000)", "?at() === '1h01m'", "press('[data-job=finetune]')", "?text('#detail').includes('finetune')"}, 1400, 1000, "light"},
		{"teams-1400-dark", nil, 1400, 1000, "dark"},
		{"teams-700-dark", nil, 700, 900, "dark"},
		{"teams-400-dark", nil, 400, 900, "dark"},
		{"teams-400-light", nil, 400, 900, "light"},
		{"parts-1400-light", []string{"story('4-parts-of-gpus')", "?document.querySelectorAll('#picture .node').length === 4", "set('#slider', 600000)", "?document.querySelectorAll('#picture .part.running').length >= 12", "press('#picture .gpu.mps')", "?text('#detail').includes('If a process crashes')"}, 1400, 1000, "light"},
		{"loans-1400-light", []string{"story('7-idle-gpus-are-lent')", "?document.querySelectorAll('#picture .node').length === 4", "set('#slider', 4200000)", "?document.querySelectorAll('#picture .gives-back').length === 3", "press('[data-job=chat]')", "?text('#detail').includes('Is given back by') && text('#detail').includes('within 2m')"}, 1400, 1000, "light"},
		{"loans-1400-dark", nil, 1400, 1000, "dark"},
		{"loans-400-light", nil, 400, 900, "light"},
		{"loan-1400-light", []string{"set('#slider', 14400000)", "?document.querySelectorAll('#picture .gpu.lent').length > 10", "press('#picture .gpu.lent')", "?text('#detail').includes('on loan')"}, 1400, 1000, "light"},
		{"cards-1400-light", []string{"story('1-two-teams')", "?document.querySelectorAll('#picture .node').length === 16", "set('#slider', 3660000)", "?at() === '1h01m'", "q('#quota-card').open = q('#policy-card').open = true", "press('#caption')", "scrollTo(0, 700)"}, 1400, 1300, "light"},
		{"editor-1400-dark", []string{"q('#quota-card').open = q('#policy-card').open = false; scrollTo(0, 0)", "press('#script')"}, 1400, 1000, "dark"},
		{"stories-1400-light", []string{"press('#editor form button')", "press('#open')"}, 1400, 1000, "light"},
		{"stories-400-dark", nil, 400, 900, "dark"},
		{"versus-1400-light", []string{"press('#stories form button')", "story('1-two-teams')", "?document.querySelectorAll('#picture .node').length === 16", "press('#compare')", "press('#versus-form button')", "?q('.outcome')", "set('#versus-result input', 4800000)", "?text('#versus-result output') === '1h20m'"}, 1400, 1000, "light"},
		{"versus-1400-dark", nil, 1400, 1000, "dark"},
		{"versus-700-light", nil, 700, 900, "light"},
		{"versus-400-light", nil, 400, 900, "light"},
	} {
		if err := v.window(look.w, look.h, look.darkness); err != nil {
			return err
		}
		if err := v.steps(look.prepare...); err != nil {
			return err
		}
		time.Sleep(400 * time.Millisecond) // colours fade, and pictures follow the slider
		// Nothing is wider than the window.
		if err := v.until("document.documentElement.scrollWidth <= innerWidth"); err != nil {
			return fmt.Errorf("%s: %w", look.name, err)
		}
		v.shot(look.name)
	}
	return nil
}

// page takes pictures of a page in a file.
func (v *visitor) page(file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := v.call("Page.navigate", map[string]any{"url": "file://" + path}, nil); err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if err := v.steps("?document.readyState === 'complete' && location.protocol === 'file:'", helpers); err != nil {
		return err
	}
	for _, look := range []struct {
		width    int
		darkness string
	}{{1400, "light"}, {1400, "dark"}, {700, "light"}, {700, "dark"}} {
		if err := v.window(look.width, 900, look.darkness); err != nil {
			return err
		}
		if err := v.steps("?document.documentElement.scrollWidth <= innerWidth"); err != nil {
			return err
		}
		v.shot(fmt.Sprintf("%s-%d-%s", name, look.width, look.darkness))
	}
	return nil
}
