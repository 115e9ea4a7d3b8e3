// The dashboard for the configuration of the rules: the address of the runbooks, the prefix of recorded series, the group labels.
// With the default configuration it is the shipped file.
local shipped = import '../../deploy/grafana/lease-exporter.json';

function(config) {
  local labels = [label for label in config.groupLabels if !std.member(['source', 'lease'], label)],
  local each(form) = std.join('', [std.strReplace(form, 'LABEL', label) for label in labels]),
  local runbooks = std.rstripChars(config.runbookBase, '/'),

  // Queries over sources and exporters select the chosen clusters and keep clusters apart.
  local query(text) = std.foldl(
    function(text, pair) std.strReplace(text, pair[0], pair[1]),
    [
      ['lease:', config.prefix + ':'],
      ['label_values(lease_source_up, source)', if labels == [] then 'label_values(lease_source_up, source)' else 'label_values(lease_source_up{%s}, source)' % std.join(', ', ['%s=~"$%s"' % [label, label] for label in labels])],
      ['source=~"$source"', each('LABEL=~"$LABEL", ') + 'source=~"$source"'],
      ['by (source', 'by (' + each('LABEL, ') + 'source'],
      ['by (instance', 'by (' + each('LABEL, ') + 'instance'],
      ['on (source', 'on (' + each('LABEL, ') + 'source'],
    ],
    text
  ),
  local legend(text) =
    local named = std.filter(function(label) std.length(std.findSubstr(label, text)) > 0, ['{{source}}', '{{instance}}']);
    if named == [] then text else std.strReplace(text, named[0], each('{{LABEL}} / ') + named[0]),
  local link(url) = std.strReplace(url, '&var-source=', each('&var-LABEL=${__data.fields.LABEL:percentencode}') + '&var-source='),

  // A column for each group label, after the other columns.
  local columns(organize) = organize {
    indexByName+: { [labels[at]]: std.length(organize.indexByName) + at for at in std.range(0, std.length(labels) - 1) },
    renameByName+: { [label]: label for label in labels },
  },

  local walked(json) =
    if std.isArray(json) then [walked(item) for item in json]
    else if std.isObject(json) then {
      [key]:
        if key == 'options' && std.objectHas(json, 'id') && json.id == 'organize' then columns(json[key])
        else if std.member(['expr', 'query'], key) && std.isString(json[key]) then query(json[key])
        else if key == 'legendFormat' then legend(json[key])
        else if key == 'url' then link(json[key])
        else walked(json[key])
      for key in std.objectFields(json)
    }
    else json,

  local constant(variable) = variable {
    query: runbooks,
    current+: { text: runbooks, value: runbooks },
  },
  local variable(label, like) = like {
    name: label,
    label: label,
    description: 'One of the labels that tell leases of one name apart.',
    query+: { query: 'label_values(lease_source_up, %s)' % label },
  },
  local variables(list) = std.flatMap(
    function(one)
      if one.name == 'runbooks' then [constant(one)]
      else if one.name == 'source' then [variable(label, one) for label in labels] + [walked(one)]
      else [walked(one)],
    list
  ),

  dashboard: shipped {
    panels: walked(shipped.panels),
    templating+: { list: variables(shipped.templating.list) },
  },
}
