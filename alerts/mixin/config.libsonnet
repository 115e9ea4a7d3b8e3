{
  _config+:: {
    // The names in the exporter, in the order of the rules.
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

    // The selector of the exporter's series, without braces, for example 'job="lease-exporter"'.
    selector: '',
    // Labels beside `source` and `lease` that distinguish leases, if one Prometheus has several leases of one name:
    // ['cluster', 'namespace']. All series of every exporter, and `equal` and `group_by` of Alertmanager, must have them.
    groupLabels: [],
    // Labels that identify an exporter. If an exporter runs without a source that it reported before, the source was
    // removed from its configuration. In Kubernetes, where instances are replaced and all exporters of a job have the same
    // configuration, use ['job']: then the successor of an instance counts as the same exporter.
    exporterLabels: ['job', 'instance'],

    // The prefix of recorded series, and the names of the two groups.
    prefix: 'lease',
    rulesGroup: 'lease',
    alertsGroup: 'lease-alerts',

    // How long a remembered condition is kept while Prometheus is down, and after an exporter is gone.
    memory: '1h',
    absentMemory: '1d',
    // How long an exporter that is not scraped may still know leases that the scraped exporters do not.
    missedMemory: '5m',
    // The time within which takeovers and anomalies are counted, and the number of takeovers that is too many.
    window: '15m',
    takeovers: 4,
    // The number of takeovers, and their time, after which a new leader gets no more time to start.
    forgivenTakeovers: 3,
    forgivenWindow: '1h',

    // The number of seconds for which each condition must last.
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
    // Additional labels of every alert, for example { team: 'scheduling' }.
    alertLabels: {},
    // The address of the runbooks, for the alerts and the dashboard.
    runbookBase: 'https://example.com/lease-exporter/alerts/runbooks/',
  },
}
