//! Rows of a CSV file as values, with serde: read on every core, reduced in order here, and written as NDJSON.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;

use inorder::{Format, Pipeline, Source};
use serde::{Deserialize, Serialize};

/// The columns that are wanted, by their names in the header.
#[derive(Deserialize)]
struct Flight {
    carrier: String,
    origin: String,
    dest: String,
    distance: f64,
    /// "NA" where the flight was cancelled.
    #[serde(deserialize_with = "csv::invalid_option")]
    air_time: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Speed {
    carrier: String,
    route: String,
    miles_per_hour: Option<f64>,
}

pub fn main() -> Result<(), Box<dyn Error>> {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/flights-sample.csv");
    let pipeline = Pipeline::builder().format(Format::csv()).build()?;

    let lines = pipeline.records(Source::file(&input))?.map(|record| {
        let flight: Flight = record.deserialize()?;
        let speed = Speed {
            carrier: flight.carrier,
            route: format!("{}-{}", flight.origin, flight.dest),
            miles_per_hour: flight
                .air_time
                .map(|minutes| flight.distance / minutes * 60.0),
        };
        serde_json::to_vec(&speed).map_err(inorder::BoxError::from)
    });

    let mut output = Vec::new();
    for line in lines {
        // An error names the file, the record and the line.
        output.write_all(&line?)?;
        output.push(b'\n');
    }

    let speeds: Vec<Speed> = output
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn Error>>>()?;
    println!("{} flights, the first {:?}", speeds.len(), speeds[0]);
    assert_eq!(speeds.len(), 2005);
    assert_eq!((&*speeds[0].carrier, &*speeds[0].route), ("UA", "EWR-IAH"));
    Ok(())
}
