//! How what is written is compressed, by what was typed and by the name.

use std::path::Path;

use inorder::Compress;

use super::args::CompressArg;
use super::status::usage;

/// How a result of that name is compressed.
pub fn compression(
    name: Option<&Path>,
    typed: CompressArg,
    level: Option<i32>,
) -> anyhow::Result<Option<Compress>> {
    let compress = match typed {
        CompressArg::None => None,
        CompressArg::Gzip => Some(Compress::gzip()),
        CompressArg::Zstd => Some(Compress::zstd()),
        CompressArg::Auto => name
            .map(by_name)
            .transpose()
            .map_err(|error| {
                usage(format!(
                    "{error}; --compress none writes plain bytes under this name"
                ))
            })?
            .flatten(),
    };
    match (compress, level) {
        (Some(compress), Some(level)) => {
            let leveled = compress.level(level);
            Ok(Some(leveled.map_err(|error| usage(error.to_string()))?))
        }
        (None, Some(_)) => Err(usage(
            "--level is for compressed output: add --compress gzip or zstd",
        )),
        (compress, None) => Ok(compress),
    }
}

/// How the name of a result says that it is compressed.
pub fn by_name(name: &Path) -> anyhow::Result<Option<Compress>> {
    let extension = name.extension();
    let extension = extension.map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("gz" | "gzip") => Ok(Some(Compress::gzip())),
        Some("zst" | "zstd") => Ok(Some(Compress::zstd())),
        Some(other @ ("bz2" | "xz" | "bgz" | "bgzf")) => Err(usage(format!(
            "{other} can't be written: only gzip and zstd can"
        ))),
        _ => Ok(None),
    }
}
