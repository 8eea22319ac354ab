package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed style.css
var style string

// WritePage writes the run as one self-contained HTML page.
func WritePage(w io.Writer, r *Run) error {
	var b strings.Builder
	openPage(&b, r.Title, r.Subtitle)
	writeFigures(&b, r)
	section(&b, "Allocation", "GPUs held over time, by kind of job; the line is what the fleet has.", legend(r, HostOnly)+allocationPlot(r))
	section(&b, "Waits", "Which part of the replicas got a place within which time. A line that ends below 100 % means that some replicas of that kind still wait.", legend(r, categories)+waitPlot(r))
	b.WriteString(`<div class="pair">`)
	section(&b, "Fragmentation", "Free GPUs, and those of them on which no member of a waiting job fits.",
		`<p class="legend"><span><i class="key-free"></i>free</span><span><i class="key-stranded"></i>stranded</span></p>`+strandedPlot(r))
	section(&b, "Queue", "Jobs and replicas that wait for a place.", waitingPlot(r))
	b.WriteString(`</div>`)
	section(&b, "Jobs", "Replicas by kind of job. "+rowNote+".", rowTable(r))
	section(&b, "Waiting longest", "Jobs that wait at the end, with the reason that the core gives.", waitingTable(r))
	return closePage(w, &b)
}

// openPage begins a page with its style and its heading.
func openPage(b *strings.Builder, title, subtitle string) {
	title = html.EscapeString(title)
	fmt.Fprintf(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
%s</style>
</head>
<body>
<header><h1>%s</h1><p>%s</p></header>
<main>
`, title, style, title, html.EscapeString(subtitle))
}

// closePage ends a page and writes it.
func closePage(w io.Writer, b *strings.Builder) error {
	b.WriteString("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title, note, body string) {
	fmt.Fprintf(b, "<section><h2>%s</h2><p class=\"note\">%s</p>\n%s\n</section>\n", html.EscapeString(title), html.EscapeString(note), body)
}

func writeFigures(b *strings.Builder, r *Run) {
	b.WriteString(`<div class="figures">`)
	for _, f := range r.figures() {
		fmt.Fprintf(
			b, `<div><h2>%s</h2><strong>%s</strong><p>%s</p></div>`,
			html.EscapeString(f.name), html.EscapeString(f.value), html.EscapeString(f.rest),
		)
	}
	b.WriteString("</div>\n")
}

// legend lists the categories that occurred, but for one.
func legend(r *Run, without Category) string {
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for i := range r.Rows {
		if r.Rows[i].Category == without {
			continue
		}
		fmt.Fprintf(&b, `<span><i style="background:var(--c%d)"></i>%s</span>`, r.Rows[i].Category, html.EscapeString(r.Rows[i].Category.String()))
	}
	b.WriteString("</p>\n")
	return b.String()
}

func rowTable(r *Run) string {
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table class="rows"><thead>`)
	tableRow(&b, "th", rowHeads)
	b.WriteString(`</thead><tbody>`)
	for i := range r.Rows {
		tableRow(&b, "td", r.Rows[i].cells(r.Rows[i].Category.String()))
	}
	total := r.total()
	b.WriteString(`</tbody><tfoot>`)
	tableRow(&b, "td", total.cells("all"))
	b.WriteString(`</tfoot></table></div>`)
	return b.String()
}

func waitingTable(r *Run) string {
	if len(r.Longest) == 0 {
		return `<p>Nobody waits.</p>`
	}
	var b strings.Builder
	b.WriteString(`<div class="scroll"><table class="waiting"><thead>`)
	tableRow(&b, "th", []string{"since", "job", "kind", "queue", "waiting", "for", "reason", "what stands in the way", "what would help"})
	b.WriteString(`</thead><tbody>`)
	for i := range r.Longest {
		w := &r.Longest[i]
		tableRow(&b, "td", []string{
			clock(r.End.Add(-w.For)), string(w.Job), w.Category.String(), string(w.Queue), count(w.Replicas), Span(w.For),
			string(w.Reason.Code), w.Reason.Text, w.Reason.Remedy,
		})
	}
	b.WriteString(`</tbody></table></div>`)
	return b.String()
}

func tableRow(b *strings.Builder, tag string, cells []string) {
	b.WriteString("<tr>")
	for _, c := range cells {
		fmt.Fprintf(b, "<%s>%s</%s>", tag, html.EscapeString(c), tag)
	}
	b.WriteString("</tr>\n")
}
