//! Charts as SVG: bars in groups, and lines. The colours follow the reader's light or dark scheme.
//!
//! A chart has its own background, because a page can have another scheme than the reader's system.

use std::fmt::Write as _;

use super::table::number;

mod bars;
mod lines;

pub(super) use bars::{Bar, BarChart, BarGroup, BarKind};
pub(super) use lines::{LineChart, LineStyle, Scale, Series};

/// The width of all charts, in pixels.
const WIDTH: f64 = 840.0;

/// The margin around a chart.
const MARGIN: f64 = 20.0;

/// The baseline of the title.
const TITLE_BASELINE: f64 = 32.0;

/// The baseline of the text below the title.
const SUBTITLE_BASELINE: f64 = 52.0;

/// The colours. The classes `c0` to `c6` are for lines, `own` and `native` for bars.
const STYLE: &str = "\
.page { fill: #ffffff }
text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.muted { fill: #59636e }
.group { font-weight: 600 }
.end { text-anchor: end }
.middle { text-anchor: middle }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.own { fill: #0969da }
.native { fill: #818b98 }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round }
.dashed { stroke-dasharray: 5 4; stroke-width: 1.6 }
.line { stroke: currentColor }
.dot, .name { fill: currentColor }
.c0 { color: #0969da } .c1 { color: #59636e } .c2 { color: #bf3989 } .c3 { color: #1a7f37 }
.c4 { color: #bc4c00 } .c5 { color: #8250df } .c6 { color: #9a6700 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 }
  text { fill: #f0f6fc }
  .muted { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .own { fill: #4493f8 }
  .native { fill: #656c76 }
  .c0 { color: #4493f8 } .c1 { color: #9198a1 } .c2 { color: #f778ba } .c3 { color: #3fb950 }
  .c4 { color: #f0883e } .c5 { color: #ab7df8 } .c6 { color: #e3b341 }
}
";

/// The number of colours for lines.
const LINE_COLOURS: usize = 7;

/// A drawing that grows.
struct Svg(String);

impl Svg {
    /// Opens a drawing of this height, with a title and a text below it.
    fn open(height: f64, title: &str, subtitle: &str) -> Self {
        let mut svg = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" \
             height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
             <rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n",
            escaped(title)
        ));
        svg.text("title", MARGIN, TITLE_BASELINE, title);
        svg.text("muted", MARGIN, SUBTITLE_BASELINE, subtitle);
        svg
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.push(&format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.push(&format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"/>"
        ));
    }

    fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.push(&format!(
            "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    fn dot(&mut self, colour: usize, x: f64, y: f64) {
        self.push(&format!("<circle class=\"dot c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>"));
    }

    fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(&format!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    fn push(&mut self, element: &str) {
        writeln!(self.0, "{element}").expect("writing to a string can't fail");
    }

    fn close(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number with as many decimals as its size needs.
pub(super) fn short(figure: f64) -> String {
    let decimals = match figure.abs() {
        ..0.995 => 2,
        ..9.95 => 1,
        _ => 0,
    };
    number(Some(figure), if figure == figure.round() { 0 } else { decimals })
}

#[cfg(test)]
mod tests;
