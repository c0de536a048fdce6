//! Lines over a common axis.

use super::{LINE_COLOURS, MARGIN, Svg, WIDTH, short};

/// The height of a chart.
const HEIGHT: f64 = 446.0;

/// The edges of the area with the lines.
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 210.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = HEIGHT - 62.0;

/// The distance of the names of two lines.
const NAME_HEIGHT: f64 = 17.0;

/// The number of steps of a linear axis, at most.
const MAX_LINEAR_STEPS: f64 = 6.0;

/// Lines over a common axis.
#[derive(Debug)]
pub(crate) struct LineChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) x_scale: Scale,
    pub(crate) y_scale: Scale,
    /// The places of the labels of the horizontal axis; empty for round numbers.
    pub(crate) x_ticks: Vec<f64>,
    pub(crate) series: Vec<Series>,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero.
    Linear,
    Logarithmic,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// The number of the colour.
    pub(crate) colour: usize,
    pub(crate) style: LineStyle,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineStyle {
    /// With a dot and a value at each point.
    Marked,
    /// For many points.
    Plain,
    /// For a line that accompanies another; it has no name.
    Dashed,
}

/// An axis from a value to another.
struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    /// The pixels of both ends.
    pixels: (f64, f64),
    ticks: Vec<f64>,
}

impl Axis {
    fn new(scale: Scale, values: impl Iterator<Item = f64> + Clone, pixels: (f64, f64)) -> Self {
        let most = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        match scale {
            Scale::Linear => {
                let step = round_step(most / MAX_LINEAR_STEPS);
                let steps = (most / step).ceil();
                let ticks = (0..=steps as u32).map(|tick| f64::from(tick) * step).collect();
                Self { scale, from: 0.0, to: steps * step, pixels, ticks }
            }
            Scale::Logarithmic => {
                let least = values.filter(|value| *value > 0.0).fold(most, f64::min);
                // Room for the values at each end.
                let from = least / 1.5;
                let to = most * 1.25;
                let mut ticks = Vec::new();
                for exponent in from.log10().floor() as i32..=to.log10().ceil() as i32 {
                    let power = 10_f64.powi(exponent);
                    ticks.extend([1.0, 2.0, 5.0].map(|digit| digit * power));
                }
                ticks.retain(|tick| (from..=to).contains(tick));
                if ticks.len() > 8 {
                    ticks.retain(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9);
                }
                Self { scale, from, to, pixels, ticks }
            }
        }
    }

    fn pixel(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Logarithmic => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }
}

/// The next larger of 1, 2 and 5, at any power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= least);
    digit.unwrap_or(10.0) * power
}

impl LineChart {
    /// The whole file.
    pub(crate) fn draw(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let mut x = Axis::new(self.x_scale, points().map(|point| point.0), (LEFT, RIGHT));
        let y = Axis::new(self.y_scale, points().map(|point| point.1), (BOTTOM, TOP));
        if !self.x_ticks.is_empty() {
            x.ticks.clone_from(&self.x_ticks);
        }
        let mut svg = Svg::open(HEIGHT, &self.title, &self.subtitle);
        for tick in &y.ticks {
            let at = y.pixel(*tick);
            svg.grid_line((LEFT, at), (RIGHT, at));
            svg.text("muted end", LEFT - 8.0, at + 4.0, &short(*tick));
        }
        for tick in &x.ticks {
            let at = x.pixel(*tick);
            svg.grid_line((at, BOTTOM), (at, BOTTOM + 5.0));
            svg.text("muted middle", at, BOTTOM + 20.0, &short(*tick));
        }
        svg.text("muted middle", f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0, &self.x_label);
        svg.text("muted", MARGIN, TOP - 16.0, &self.y_label);
        // The values of the first line are above it, and those of the others below, because two lines can be close.
        for (at, series) in self.series.iter().enumerate() {
            draw_line(&mut svg, series, &x, &y, if at == 0 { -9.0 } else { 20.0 });
        }
        self.names(&mut svg, &y);
        svg.close()
    }

    /// The name of each line next to its end, without overlaps.
    fn names(&self, svg: &mut Svg, y: &Axis) {
        let ends = self.series.iter().filter(|series| series.style != LineStyle::Dashed);
        let mut ends: Vec<(f64, &Series)> =
            ends.filter_map(|series| Some((y.pixel(series.points.last()?.1), series))).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut above = TOP - NAME_HEIGHT;
        for (at, series) in ends {
            let at = at.max(above + NAME_HEIGHT);
            above = at;
            let class = format!("name c{}", series.colour % LINE_COLOURS);
            svg.text(&class, RIGHT + 10.0, at + 4.0, &series.name);
        }
    }
}

fn draw_line(svg: &mut Svg, series: &Series, x: &Axis, y: &Axis, values_offset: f64) {
    let colour = series.colour % LINE_COLOURS;
    let points: Vec<(f64, f64)> =
        series.points.iter().map(|(at, value)| (x.pixel(*at), y.pixel(*value))).collect();
    let dashed = if series.style == LineStyle::Dashed { " dashed" } else { "" };
    svg.polyline(&format!("line c{colour}{dashed}"), &points);
    if series.style != LineStyle::Marked {
        return;
    }
    for ((at_x, at_y), (_, value)) in points.iter().zip(&series.points) {
        svg.dot(colour, *at_x, *at_y);
        svg.text("muted middle", *at_x, at_y + values_offset, &short(*value));
    }
}
