//! What was typed after `inorder map`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::args::{
    FailureArgs, FormatArg, InputArgs, OutputArgs, PaceArgs, RunArgs, ShowArgs,
};

#[derive(Debug, Args)]
pub struct MapArgs {
    /// The jq filter; with --from-file the first INPUT stands here
    #[arg(value_name = "FILTER", required_unless_present_any = ["from_file", "args", "jsonargs"])]
    pub filter: Option<OsString>,
    #[command(flatten)]
    pub input: InputArgs,
    /// All fields of CSV and TSV are strings [default: a field that is a JSON number is a number]
    #[arg(long, help_heading = "Input")]
    pub strings: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub result: ResultArgs,
    #[command(flatten)]
    pub variables: VariableArgs,
    #[command(flatten)]
    pub failures: FailureArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub pace: PaceArgs,
    #[command(flatten)]
    pub show: ShowArgs,
    #[command(flatten)]
    pub refused: RefusedArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ResultArgs {
    /// The output's format [default: by the output's name, else as the input's]
    #[arg(long, value_name = "FORMAT", hide_possible_values = false)]
    pub to: Option<FormatArg>,
    /// The columns of CSV and TSV, by commas [default: the keys of the run's first object]
    ///
    /// A key that an object lacks becomes an empty field; one that is no column makes the record fail.
    #[arg(long, value_name = "NAMES")]
    pub columns: Option<String>,
    /// As --to lines: strings as they are, other values as JSON
    #[arg(short, long, conflicts_with = "to")]
    pub raw_output: bool,
    /// Accepted, for jq's sake: a value never takes more than one line
    #[arg(short, long)]
    pub compact_output: bool,
    /// Objects with their keys in order
    #[arg(short = 'S', long)]
    pub sort_keys: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Filter")]
pub struct VariableArgs {
    /// Read the filter from FILE
    #[arg(short = 'f', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from_file: Option<PathBuf>,
    /// $NAME is the string VALUE
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub arg: Vec<String>,
    /// $NAME is the JSON value VALUE
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub argjson: Vec<String>,
    /// $NAME is the array of the JSON values in FILE
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"])]
    pub slurpfile: Vec<String>,
    /// $NAME is the text in FILE
    #[arg(long, num_args = 2, value_names = ["NAME", "FILE"])]
    pub rawfile: Vec<String>,
    /// What follows is $ARGS.positional, as strings
    #[arg(long, num_args = 0.., value_name = "VALUE", conflicts_with = "jsonargs")]
    pub args: Vec<String>,
    /// What follows is $ARGS.positional, as JSON values
    #[arg(long, num_args = 0.., value_name = "VALUE")]
    pub jsonargs: Vec<String>,
}

/// Options of jq that are understood, and refused with the reason.
#[derive(Debug, Args)]
pub struct RefusedArgs {
    #[arg(short = 'n', long, hide = true)]
    pub null_input: bool,
    #[arg(short, long, hide = true)]
    pub slurp: bool,
    #[arg(short = 'R', long, hide = true)]
    pub raw_input: bool,
}
