package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The colours of targets stay the same from plot to plot, and can be told apart by people who don't see red and green.
var colours = map[string]string{"millrace": "#0072b2", "external": "#0072b2", "floor": "#999999", "kfake": "#56b4e9",
	"kafka": "#d55e00", "nats": "#009e73", "redis": "#cc79a7"}

func colour(target string) string {
	if c, ok := colours[target]; ok {
		return c
	}
	return "#444444"
}

const (
	plotWidth  = 640
	labelWidth = 110
	barHeight  = 22
)

// Bars draws the medians of a case's main figure, with a line from the least to the most.
func Bars(w io.Writer, c *Case) error {
	f := About(c.Main)
	most := 0.0
	var rows []*Result
	for _, r := range c.Results {
		if _, ok := r.Median[c.Main]; ok {
			rows = append(rows, r)
			most = max(most, r.Most[c.Main])
		}
	}
	if most == 0 {
		most = 1
	}
	var b strings.Builder
	height := 50 + len(rows)*(barHeight+8)
	begin(&b, plotWidth, height, c.Name+": "+f.Title)
	scale := float64(plotWidth-labelWidth-90) / most
	for i, r := range rows {
		y := 40 + i*(barHeight+8)
		v := r.Median[c.Main]
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelWidth-8, y+15, html.EscapeString(r.Target))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, v*scale, barHeight,
			colour(r.Target))
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#000" stroke-opacity="0.6"/>`+"\n",
			labelWidth+r.Least[c.Main]*scale, labelWidth+r.Most[c.Main]*scale, y+barHeight/2, y+barHeight/2)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", labelWidth+r.Most[c.Main]*scale+6, y+15, f.Format(v))
	}
	return end(w, &b)
}

// Percentiles draws the latencies of a case: nines to the right, time upwards, both logarithmic.
func Percentiles(w io.Writer, c *Case) error {
	const left, right, top, bottom, height = 70, 120, 40, 40, 360
	low, high := math.Inf(1), 0.0
	for _, r := range c.Results {
		if h := r.latency; h != nil && h.TotalCount() > 0 {
			low, high = min(low, float64(max(h.Min(), 1))/1000), max(high, float64(h.Max())/1000)
		}
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	y := func(us float64) float64 {
		return height - bottom - (height-top-bottom)*math.Log10(max(us, low)/low)/math.Log10(max(high/low, 10))
	}
	x := func(q float64) float64 { // q in percent, up to four nines
		return left + (plotWidth-left-right)*min(-math.Log10(1-q/100), 4)/4
	}
	var b strings.Builder
	begin(&b, plotWidth, height, c.Name+": latency, µs")
	for _, q := range []float64{0, 90, 99, 99.9, 99.99} {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%g%%</text>`+"\n",
			x(q), x(q), top, height-bottom, x(q), height-bottom+18, q)
	}
	for v := low; v <= high*1.01; v *= 10 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n",
			left, plotWidth-right, y(v), y(v), left-6, y(v)+4, v)
	}
	label := 0
	for _, r := range c.Results {
		if r.latency == nil || r.latency.TotalCount() == 0 {
			continue
		}
		var points []string
		for n := 0.0; n <= 4; n += 0.05 {
			q := 100 * (1 - math.Pow(10, -n))
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(q), y(float64(r.latency.ValueAtQuantile(q))/1000)))
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`+"\n", colour(r.Target),
			strings.Join(points, " "))
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", plotWidth-right+10, top+14+18*label, colour(r.Target),
			html.EscapeString(r.Target))
		label++
	}
	return end(w, &b)
}

func begin(b *strings.Builder, width, height int, title string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`font-family="sans-serif" font-size="13">`+"\n", width, height, width, height)
	t := html.EscapeString(title)
	fmt.Fprintf(b, "<title>%s</title>\n"+`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n"+
		`<text x="10" y="22" font-size="15">%s</text>`+"\n", t, t)
}

func end(w io.Writer, b *strings.Builder) error {
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
