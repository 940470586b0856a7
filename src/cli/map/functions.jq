# A record at a time: what would end jq lets the record fail.
def halt_error: error;
def halt_error($exit_code): error;

def @csv: csv_row;
def @tsv: tsv_row;

def del(f): delpaths([path(f)]);

def flatten: flatten(1e9);
def gamma: lgamma;

# What jq has and jaq has not.
def recurse_down: recurse;
def format($name):
  if $name == "text" then @text elif $name == "json" then @json elif $name == "csv" then @csv
  elif $name == "tsv" then @tsv elif $name == "html" then @html elif $name == "uri" then @uri
  elif $name == "sh" then @sh elif $name == "base64" then @base64 elif $name == "base64d" then @base64d
  else error("\($name) is not a valid format") end;
def leaf_paths: paths(scalars);
def ascii: [.] | implode;
def toarray: if isarray then . else [.] end;
def todate(f): strftime(f);
def date: todate;
def dateadd(u; n): . + n;
def datesub(u; n): . - n;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def from_entries: reduce .[] as $x ({};
    . + { ($x
           | if .key == null then .k // .name // .Name // .K // .Key else .key end
           | if isstring then . else tojson end):
          ($x | if has("value") then .value elif has("v") then .v else .Value end) });
def with_entries(f): to_entries | map(f) | from_entries;
