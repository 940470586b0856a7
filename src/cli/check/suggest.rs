//! Options that may fit the input better than those it was read with.

use super::report::Fields;
use super::text::TextReport;
use crate::cli::args::FormatArg;

/// The suggestions, most telling first.
pub fn suggestions(format: FormatArg, fields: &Fields, text: &TextReport) -> Vec<String> {
    let mut all = Vec::new();
    let decoded = text.decoded_from.is_some();
    match text.encoding {
        Some(name @ ("utf-16le" | "utf-16be")) if !decoded => {
            // Nothing else of what was seen is as it is.
            return vec![format!("--encoding {name}: the text is UTF-16")];
        }
        None if !decoded => all.push(
            "--encoding windows-1252, or whatever it is, where text is needed: there are bytes that are not UTF-8"
                .to_owned(),
        ),
        _ => {}
    }
    if let Some((name, count)) = delimiter(format, fields) {
        let times = if count == 1 { "once" } else { "several times" };
        all.push(format!(
            "-d {name}: the first row is one field, with that byte in it {times}"
        ));
    }
    if format == FormatArg::Lines && text.lf + text.crlf == 0 {
        if text.nul_bytes > 0 {
            all.push("--from nul: there is no LF but there are NUL bytes".to_owned());
        } else if text.lone_cr > 0 {
            all.push("--from csv: there is no LF but there are carriage returns".to_owned());
        }
    }
    all
}

/// Another delimiter, if rows of one field are full of it, and how often it stands in the first.
fn delimiter(format: FormatArg, fields: &Fields) -> Option<(&'static str, usize)> {
    let rows = matches!(format, FormatArg::Csv | FormatArg::Tsv);
    if !rows || fields.in_a_row != Some(1) {
        return None;
    }
    let candidates = [(b';', "';'"), (b'\t', "tab"), (b'|', "'|'"), (b',', "','")];
    let counts = candidates.map(|(byte, name)| {
        let count = fields.first.iter().filter(|&&found| found == byte).count();
        (name, count)
    });
    let best = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (best.1 > 0).then_some(best)
}
