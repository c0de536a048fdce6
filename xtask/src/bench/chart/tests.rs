//! Scales, escaped texts, and labels.

use super::{Bar, BarChart, BarGroup, BarKind, LineChart, LineStyle, Scale, Series, short};

fn lines(svg: &str, start: &str) -> Vec<String> {
    svg.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

/// The value of an attribute of an element.
fn attribute(element: &str, name: &str) -> f64 {
    let from = element.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
    element[from..].split('"').next().unwrap().parse().unwrap()
}

fn bar(label: &str, value: f64, kind: BarKind) -> Bar {
    Bar { label: label.to_owned(), value, note: String::new(), kind }
}

#[test]
fn bars_of_a_group_have_the_same_scale() {
    let group = |bars| BarGroup { label: "HTTP & <stdio>".to_owned(), bars };
    let chart = BarChart {
        title: "Calls".to_owned(),
        subtitle: "calls per second".to_owned(),
        groups: vec![
            group(vec![bar("moongate", 50_000.0, BarKind::Own), bar("rmcp", 25_000.0, BarKind::Native)]),
            group(vec![bar("moongate", 10.0, BarKind::Own)]),
        ],
    };
    let svg = chart.draw();
    let bars = lines(&svg, "<rect class=\"own\"").into_iter().chain(lines(&svg, "<rect class=\"native\""));
    let widths: Vec<f64> = bars.map(|bar| attribute(&bar, "width")).filter(|width| *width > 12.0).collect();
    assert_eq!(widths.len(), 3, "{svg}");
    assert!((widths[0] - widths[1]).abs() < 0.1 && (widths[0] - 2.0 * widths[2]).abs() < 0.2, "{widths:?}");
    for text in [">50,000<", ">25,000<", ">10<", ">HTTP &amp; &lt;stdio&gt;<", ">native server<"] {
        assert!(svg.contains(text), "{text} is missing: {svg}");
    }
    assert!(svg.contains("prefers-color-scheme: dark"), "{svg}");
}

fn chart(x_scale: Scale, y_scale: Scale, series: Vec<Series>) -> String {
    let text = str::to_owned;
    LineChart {
        title: text("t"),
        subtitle: text("s"),
        x_label: text("x"),
        y_label: text("y"),
        x_scale,
        y_scale,
        x_ticks: Vec::new(),
        series,
    }
    .draw()
}

fn series(name: &str, style: LineStyle, points: &[(f64, f64)]) -> Series {
    Series { name: name.to_owned(), colour: 0, style, points: points.to_vec() }
}

#[test]
fn a_linear_axis_starts_at_zero() {
    let points = [(0.0, 21.0), (500_000.0, 30.0), (1_000_000.0, 29.0)];
    let svg = chart(Scale::Linear, Scale::Linear, vec![series("HTTP", LineStyle::Plain, &points)]);
    for tick in [">0<", ">5<", ">30<", ">1,000,000<"] {
        assert!(svg.contains(tick), "{tick} is missing: {svg}");
    }
    assert!(lines(&svg, "<circle").is_empty(), "{svg}");
}

#[test]
fn equal_factors_have_equal_distances_on_a_logarithmic_axis() {
    let points = [(1.0, 1.0), (10.0, 100.0), (100.0, 10_000.0)];
    let svg = chart(Scale::Logarithmic, Scale::Logarithmic, vec![series("a", LineStyle::Marked, &points)]);
    let dots = lines(&svg, "<circle");
    let at = |dot: usize, axis: &str| attribute(&dots[dot], axis);
    for axis in ["cx", "cy"] {
        assert!((2.0 * at(1, axis) - at(0, axis) - at(2, axis)).abs() < 0.3, "{svg}");
    }
}

#[test]
fn names_of_lines_do_not_overlap_and_dashed_lines_have_none() {
    let all = ["a", "b", "c"].map(|name| series(name, LineStyle::Marked, &[(1.0, 5.0), (2.0, 5.0)]));
    let all = all.into_iter().chain([series("p50", LineStyle::Dashed, &[(1.0, 1.0), (2.0, 2.0)])]);
    let svg = chart(Scale::Linear, Scale::Linear, all.collect());
    let names = lines(&svg, "<text class=\"name");
    assert_eq!(names.len(), 3, "{svg}");
    let ys: Vec<f64> = names.iter().map(|name| attribute(name, " y")).collect();
    assert!(ys.windows(2).all(|pair| pair[1] - pair[0] >= 16.0), "{ys:?}");
}

#[test]
fn small_numbers_keep_their_decimals() {
    for (figure, text) in [(0.123, "0.12"), (1.26, "1.3"), (2.0, "2"), (12.6, "13"), (51_234.0, "51,234")] {
        assert_eq!(short(figure), text);
    }
}
