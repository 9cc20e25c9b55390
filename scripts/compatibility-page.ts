import { AUTH_KEYS, CREDENTIAL_KEYS, TLS_KEYS } from "#agent-job/volumes.ts";
import * as names from "#api/names.ts";
import { USAGE } from "../src/bin/flags.ts";
import { METRICS_READER_ROLE } from "../src/bin/permissions.ts";
import { OPERATOR_NAMESPACE } from "./manifests.ts";
import { page, table } from "./pages.ts";
import { FINALIZERS, KEPT, LABELS, unlistedNames, YOUR_ANNOTATIONS, YOUR_LABELS } from "./promised-names.ts";

const NAME = "NAME";

/** The page of what stays compatible. Names come from the code. @throws Error when it lacks a name of names.ts */
export function compatibilityPage(): string {
  const unlisted = unlistedNames();
  if (unlisted.length > 0) throw new Error(`scripts/promised-names.ts must list ${unlisted.join(", ")}.`);
  return page(
    "Compatibility",
    "This page is for building on the operator with manifests, scripts, dashboards or alerts. It holds from the first release on. Until then everything may change. [One list](promised-names.txt) has all names, and generation fails when one of them is lost. A release here is a minor release; patch releases only repair.",
    ...changes(),
    ...versions(),
    ...objects(),
    ...secrets(),
    ...marks(),
    ...process(),
    ...unpromised(),
  );
}

function changes(): readonly string[] {
  return [
    "## How a promise changes",
    table(
      ["what", "how"],
      [
        [
          "something new",
          "Each release may add fields, values, conditions, reasons, labels, metrics, flags and keys. Ignore those that you do not know.",
        ],
        [
          "a removal, a new name or a changed meaning",
          "The notes of a release announce it, and name the replacement. Old and new both work in that release and in the next two. Fields of `v1beta1` are kept longer, see below.",
        ],
        [
          "while both work",
          "A write of an EtcdCluster that uses a deprecated field or annotation returns a warning. The operator's log warns of a deprecated flag. A metric is exported under both names.",
        ],
        [
          "a security vulnerability",
          "A release may close it at once, even if that breaks a promise. Its notes say so first.",
        ],
      ],
    ),
  ];
}

function versions(): readonly string[] {
  return [
    "## Versions of the API",
    table(
      ["version", "what stays"],
      [
        [
          "`v1beta1`",
          "Each field keeps name, type, meaning and default. A new field changes nothing while it is absent.",
        ],
        [
          "a deprecated field of `v1beta1`",
          "Its description names the release that deprecated it. It works as long as `v1beta1` is served.",
        ],
        [
          "a later version",
          "`v1beta1` is served for three more releases, and for at least a year. The operator converts and stores objects again by itself.",
        ],
        [
          "`v1alpha1`",
          "The API of the 2020 operator keeps its shape and gets no fields. It is served as long as `v1beta1` is.",
        ],
        [
          "status",
          "Fields of `status` have the same promise as fields of `spec`, except those of EtcdPeers and `dryRun.steps`.",
        ],
        ["stored backups", "Each later release restores them, also encrypted ones and archives of changes."],
      ],
    ),
  ];
}

function objects(): readonly string[] {
  const port = (name: string, number: number) => `${number} (\`${name}\`)`;
  const client = port(names.CLIENT_PORT_NAME, names.CLIENT_PORT);
  return [
    "## Names of objects",
    `\`${NAME}\` is the name of the EtcdCluster, N the number of a member, USER the name of an EtcdUser.`,
    table(
      ["object", "name", "what stays"],
      [
        ["Service", code(names.clientServiceName(NAME)), `port ${client}, to members that answer linearizable reads`],
        [
          "Service",
          code(names.headlessServiceName(NAME)),
          `headless; ports ${client}, with TLS \`${names.CLIENT_TLS_PORT_NAME}\`, and ${port(names.PEER_PORT_NAME, names.PEER_PORT)}; SRV records by these names`,
        ],
        [
          "host of a member",
          code(`${NAME}-N.${names.headlessServiceName(NAME)}.NAMESPACE.svc`),
          "the same in its certificate and in etcd's member list",
        ],
        [
          "pod of a member",
          "not promised; select by `etcd.improbable.io/peer-name`",
          `container \`${names.ETCD_CONTAINER}\`; port ${port(names.METRICS_PORT_NAME, names.METRICS_PORT)} with \`/metrics\`, \`/livez\` and \`/readyz\``,
        ],
        ["PersistentVolumeClaim", code(`${NAME}-N`), "a new EtcdCluster of the same name takes its data over"],
        ["PodDisruptionBudget", code(names.disruptionBudgetName(NAME)), "the name"],
        ["NetworkPolicy, PodMonitor", code(names.networkPolicyName(NAME)), "the name"],
        ["EtcdBackup of a schedule", code("SCHEDULE-YYYYMMDD-HHMMSS"), "the name, in UTC"],
        ["EtcdBackup with changes", code(names.archiveBackupName("SCHEDULE")), "the name"],
      ],
    ),
    table(
      ["object of the installation", "name"],
      [
        ["Namespace", code(OPERATOR_NAMESPACE)],
        ["Deployment, ServiceAccount", code(names.OPERATOR)],
        ["ClusterRole that permits reading metrics", code(METRICS_READER_ROLE)],
        ["ClusterRole for Secrets, bound in namespaces", code(names.TLS_ROLE)],
        ["Service of the webhooks, and Secret with its CA", code(names.WEBHOOKS)],
      ],
    ),
  ];
}

function secrets(): readonly string[] {
  const { s3, gcs, azure } = CREDENTIAL_KEYS;
  const keys = (all: { readonly must: readonly string[]; readonly may: readonly string[] }) =>
    list([...all.must, ...all.may]);
  const pair = [names.CERTIFICATE_FILE, names.KEY_FILE, names.TRUST_FILE];
  return [
    "## Keys of Secrets",
    table(
      ["object that the operator writes", "keys"],
      [
        [`Secret \`${names.applicationCertificateName(NAME)}\``, list([...pair, "endpoints"])],
        [`ConfigMap \`${names.trustConfigMapName(NAME)}\``, list([names.TRUST_FILE])],
        [`Secret \`${names.rootSecretName(NAME)}\``, list(["username", "password"])],
        [
          `Secret \`${names.bindingName("USER")}\``,
          list([...BINDING_KEYS, "password", names.CERTIFICATE_FILE, names.KEY_FILE]),
        ],
        [
          `Secrets \`${names.peerAuthorityName(NAME)}\`, \`${names.clientAuthorityName(NAME)}\``,
          "Not for applications. A copy that you put back works in later releases.",
        ],
      ],
    ),
    table(
      ["Secret that you write", "keys"],
      [
        [`with the label \`${names.TLS_LABEL}\``, list(pair)],
        ["for S3", keys(s3)],
        ["for Google Cloud Storage", keys(gcs)],
        ["for Azure Blob", keys(azure)],
        [`\`etcd-backup-credentials\`, for \`destination.url\``, "those of the store in the URL"],
        ["for encryption", list(["key"])],
        [`\`${names.rootSecretName(NAME)}\` of your own`, list(["password"])],
        ["for a backup of an etcd elsewhere: TLS", list(TLS_KEYS)],
        ["for a backup of an etcd elsewhere: login", list(AUTH_KEYS)],
      ],
    ),
  ];
}

/** Keys of a binding without its credentials, as src/user/desired/binding.ts writes them. */
export const BINDING_KEYS = [
  ...["type", "provider", "host", "port", "uri", "endpoints", "username", "key-prefix"],
  ...[names.TRUST_FILE, "certificates"],
];

function marks(): readonly string[] {
  const rows = (all: readonly (readonly string[])[]) => all.map(([name = "", ...rest]) => [code(name), ...rest]);
  return [
    "## Labels, annotations and finalizers",
    table(["label that you set", "on", "meaning"], rows(YOUR_LABELS)),
    table(["annotation that you set", "on", "meaning"], rows(YOUR_ANNOTATIONS)),
    table(["label of the operator", "on", "value"], rows(LABELS)),
    table(["finalizer", "on", "what the operator does"], rows(FINALIZERS)),
  ];
}

function process(): readonly string[] {
  const flags = [...USAGE.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
  return [
    "## The process",
    table(
      ["what", "what stays"],
      [
        ["conditions", "Each type and reason of [this list](conditions.md), and what `True` means."],
        ["events", "Each reason of [this list](events.md), also when the rule or guard gets another name."],
        ["metrics", "Each name, type and label of [this list](metrics.md). Buckets of histograms may change."],
        ["flags", `${list(flags)}: name, and how a value is written. A default may change; the notes say so.`],
        [
          "environment",
          `${list(["POD_NAMESPACE", "OPERATOR_IMAGE"])}: the defaults of \`--operator-namespace\` and \`--agent-image\``,
        ],
        ["paths", "`/healthz`, `/readyz` and `/metrics`"],
        [
          "exit code",
          "0: stopped on request. 1: the start failed, the lease was lost, or an exception was not handled.",
        ],
      ],
    ),
  ];
}

function unpromised(): readonly string[] {
  return [
    "## Not promised",
    table(
      ["what", "use instead"],
      [
        [
          "names of rules and guards: in logs, in the label `rule` of metrics, in messages and in `status.dryRun`",
          "reasons of conditions and events",
        ],
        ["EtcdPeers: their spec and status", "`status.members` of the EtcdCluster"],
        ["wording of messages, events, logs and warnings; columns of `kubectl get`", "types, statuses and reasons"],
        ["values of the labels `reason`, `code` and `method` of metrics", "sums over them"],
        [
          "what runs a member: ReplicaSets, pods, their volumes, variables and etcd's flags",
          "`spec.podTemplate` and `spec.etcd`",
        ],
        [
          "Jobs of backups and restores, the agent in them, its task and exit codes",
          "status of the EtcdBackup or EtcdRestore",
        ],
        ["other Secrets, ConfigMaps and cert-manager's Certificates", "the Secrets above"],
        ["the operator's rights, admission policies, leases and webhooks", "the manifest of each release"],
        ["times between attempts, and their number", "fields and flags that set a time"],
        [
          "the code: its packages and tests. Commands of npm that [install](../install.md) names keep their options",
          "",
        ],
      ],
    ),
    "The operator keeps these labels and annotations for itself. Do not write them. Their format may change. A claim may be years old, so each release understands what earlier ones wrote.",
    table(
      ["on", "what is kept there"],
      KEPT.map(([on, kept]) => [on, list(kept)]),
    ),
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}

function list(all: readonly string[]): string {
  return all.map(code).join(", ");
}
