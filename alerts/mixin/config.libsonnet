{
  _config+:: {
    // As the exporter names them, in the order of the rules.
    alerts:: [
      'LeaseNoLeader',
      'LeaseWorkStalled',
      'LeaseStateUnknown',
      'LeaseLeadershipFlapping',
      'LeaseEpochRegressed',
      'LeaseFencedWriter',
      'LeaseSourceDown',
      'LeaseExporterAbsent',
    ],

    // Which series are the exporter's, as it stands between the braces of a selector: 'job="lease-exporter"'.
    selector: '',
    // Labels beyond `source` and `lease` that tell leases apart, where one Prometheus sees several of one name:
    // ['cluster', 'namespace']. Every exporter must have them, and so must `equal` and `group_by` of Alertmanager.
    groupLabels: [],
    // What tells one exporter from another. An exporter that is there without a source it reported before had it taken
    // out of its configuration. Where exporters of one job all have the same configuration and their instances come and
    // go, as in Kubernetes, ['job'] sees that of their successors too.
    exporterLabels: ['job', 'instance'],

    // What the names of recorded series begin with, and the names of the two groups.
    prefix: 'lease',
    rulesGroup: 'lease',
    alertsGroup: 'lease-alerts',

    // How long what is remembered outlasts a Prometheus that was away, and an exporter that is gone.
    memory: '1h',
    absentMemory: '1d',
    // For how long an exporter that is not scraped, beside others that are, may still know leases that those do not.
    missedMemory: '5m',
    // Within what time takeovers and anomalies are counted, and how many takeovers are too many.
    window: '15m',
    takeovers: 4,
    // How many takeovers within what time leave a new leader no more time to begin.
    forgivenTakeovers: 3,
    forgivenWindow: '1h',

    // For how many seconds each condition must last.
    wait: {
      LeaseNoLeader: 120,
      LeaseWorkStalled: 60,
      LeaseStateUnknown: 900,
      LeaseLeadershipFlapping: 0,
      LeaseEpochRegressed: 0,
      LeaseFencedWriter: 0,
      LeaseSourceDown: 300,
      LeaseExporterAbsent: 300,
    },
    severity: {
      LeaseNoLeader: 'critical',
      LeaseWorkStalled: 'critical',
      LeaseStateUnknown: 'warning',
      LeaseLeadershipFlapping: 'warning',
      LeaseEpochRegressed: 'critical',
      LeaseFencedWriter: 'warning',
      LeaseSourceDown: 'warning',
      LeaseExporterAbsent: 'warning',
    },
    // Further labels of every alert, such as { team: 'scheduling' }.
    alertLabels: {},
    // Where the runbooks are; also those that the dashboard links to.
    runbookBase: 'https://example.com/lease-exporter/alerts/runbooks/',
  },
}
