//! The speed-up over the threads, as a drawing.

use std::fmt::Display;

use anyhow::anyhow;
use plotters::prelude::*;

use super::report::{Report, Row};
use super::runner::Way;

const SIZE: (u32, u32) = (720, 480);
const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
const IDEAL: RGBColor = RGBColor(0x99, 0x99, 0x99);
const MEASURED: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);

/// An SVG: measured speed-up against the plain loop, and the line of an ideal one.
pub fn speed_up(report: &Report) -> anyhow::Result<String> {
    let mut svg = String::new();
    draw(report, &mut svg).map_err(|error| anyhow!("the plot cannot be drawn: {error}"))?;
    Ok(svg)
}

fn draw(report: &Report, svg: &mut String) -> Result<(), impl Display + use<>> {
    let mut points: Vec<(f64, f64)> = report
        .ways
        .iter()
        .filter(|row| matches!(row.way, Way::Threads(_)))
        .map(|row: &Row| (row.threads as f64, row.speed_up))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let top = points.iter().map(|point| point.1).fold(most, f64::max);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .caption(report.title(), ("sans-serif", 15).into_font().color(&INK))
        .x_label_area_size(40)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..most * 1.05, 0.0..top * 1.1)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("threads")
        .y_desc("times as fast as the plain loop")
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .draw()?;
    chart
        .draw_series(LineSeries::new(
            [(0.0, 0.0), (most, most)],
            IDEAL.stroke_width(1),
        ))?
        .label("ideal")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], IDEAL));
    chart
        .draw_series(LineSeries::new(
            points.iter().copied(),
            MEASURED.stroke_width(2),
        ))?
        .label("measured")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], MEASURED));
    chart.draw_series(
        points
            .iter()
            .map(|point| Circle::new(*point, 4, MEASURED.filled())),
    )?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(("sans-serif", 13).into_font().color(&INK))
        .draw()?;
    area.present()
}
