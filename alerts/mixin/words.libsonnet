// The variables of the texts of rules and alerts, computed from the configuration.
function(config) {
  local list(labels) = std.join(', ', labels),
  local of(labels) = [label for label in config.groupLabels if !std.member(labels, label)] + labels,

  // The prefix of recorded series, before the colon.
  p: config.prefix,
  // The selector as the only matchers between braces, and followed by other matchers.
  only: if config.selector == '' then '' else '{%s}' % config.selector,
  also: if config.selector == '' then '' else config.selector + ',',

  source: list(of(['source'])),
  lease: list(of(['source', 'lease'])),
  state: list(of(['source', 'lease', 'state'])),
  alert: list(of(['source', 'lease', 'alert'])),
  exporter: list(of(config.exporterLabels)),
  target: list(of(['job', 'instance'])),
  reporter: list(of(['source'] + config.exporterLabels)),

  // In a template: the name of the exporter in `$row`.
  exporter_named: std.join(' ', [
    '%s {{ printf "%%q" $row.Labels.%s }}' % [label, label]
    for label in config.exporterLabels
  ]),
  last_exporter_label: config.exporterLabels[std.length(config.exporterLabels) - 1],

  memory: config.memory,
  absent: config.absentMemory,
  missed: config.missedMemory,
  window: config.window,
  takeovers: config.takeovers,
  forgiven: config.forgivenTakeovers,
  forgiven_window: config.forgivenWindow,

  // In a template: the labels of the alert as matchers, in `$of`.
  local matchers(labels) =
    '{{ $of := printf "%s" %s -}}' % [
      std.join(',', [label + '=%q' for label in labels]),
      std.join(' ', ['$labels.' + label for label in labels]),
    ],
  of_lease: matchers(of(['source', 'lease'])),
  of_source: matchers(of(['source'])),
}
