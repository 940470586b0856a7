# A record at a time: what would end jq lets the record fail.
def halt_error: error;
def halt_error($exit_code): error;

def @csv: csv_row;
def @tsv: tsv_row;

def del(f): delpaths([path(f)]);

# What jq has and jaq has not.
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
