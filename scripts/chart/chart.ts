import { stringify } from "yaml";
import { z } from "zod";
import { ETCD_REPOSITORY, OPERATOR } from "#api/names.ts";
import { isSameData } from "#base/hash.ts";
import { DEFINITIONS_POLICY } from "../definitions-policy.ts";
import { crdManifests, operatorManifests } from "../manifests.ts";
import { KEPT_BY_GITOPS, type Manifest, OPERATOR_NAMESPACE } from "../own.ts";
import { peopleRoles } from "../people-roles.ts";
import { secretsEverywhere, secretsIn } from "../rights.ts";
import { chartYaml, valuesYaml } from "./files.ts";
import { LABELS, monitoringObjects } from "./monitoring.ts";
import { selfTestObjects } from "./self-test.ts";
import { type Block, entries, field, fields, mark, onlyIf, type Snippets, templateOf } from "./template.ts";
import { valuesSchema } from "./values.ts";

// The Helm chart, made from the objects of `npm run manifests`, so that the two cannot differ. With default values the
// chart renders the same objects, except the Namespace, which Helm creates itself with --create-namespace.

/** What replaces marks inside of texts. */
const INLINE = {
  IMAGE: '{{ include "etcd-cluster-operator.image" . }}',
  KNOWN_IMAGES: '{{ include "etcd-cluster-operator.known-images" . }}',
  NAMESPACE: "{{ .Release.Namespace }}",
  PULL_POLICY: "{{ .Values.image.pullPolicy }}",
  REPLICAS: "{{ .Values.replicas }}",
  REPOSITORIES: '{{ join " or " .Values.etcdRepositories }}',
  ONE_NAMESPACE: "{{ . }}",
  TEST_NAMESPACE: "{{ .Values.test.namespace | default (first .Values.watchNamespaces) | default .Release.Namespace }}",
  TEST_STORAGE_CLASS: "{{ .Values.test.storageClassName }}",
  TEST_TIMEOUT: "{{ .Values.test.timeout }}",
};

const HELPERS = `{{- define "etcd-cluster-operator.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
{{- define "etcd-cluster-operator.known-images" -}}
{{- range $index, $repository := .Values.etcdRepositories }}{{ if $index }} || {{ end }}each.image.startsWith('{{ $repository }}:v'){{ end }}
{{- end }}
`;

const NOTES = `The operator is installed in namespace {{ .Release.Namespace }}. Wait for it:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/${OPERATOR}

Then create a first cluster in a namespace of yours:

  kubectl apply -f - <<EOF
  apiVersion: etcd.improbable.io/v1beta1
  kind: EtcdCluster
  metadata: { name: my-etcd }
  spec: { replicas: 3, version: 3.6.16, etcd: { autoCompaction: { mode: Periodic, period: 1h } } }
  EOF
  kubectl wait etcdcluster my-etcd --for condition=Ready --timeout 5m
`;

/** Flags of the operator by value of the chart. A value that is empty or 0 leaves the flag out. */
const FLAGS = {
  shards: "shards",
  "flags.replaceAfter": "replace-after",
  "flags.memberTimeout": "member-timeout",
  "flags.rereadWithin": "reread-within",
  "flags.runningBackups": "running-backups",
  "flags.workers": "workers",
  "flags.kubeRequestsPerSecond": "kube-requests-per-second",
  "flags.logLevel": "log-level",
};

/** Arguments of the operator from values of the chart. */
const moreArgs: Block = (indent) => {
  const space = " ".repeat(indent);
  return [
    `${space}{{- if ne (first .Values.etcdRepositories) "${ETCD_REPOSITORY}" }}`,
    `${space}- --etcd-repository={{ first .Values.etcdRepositories }}`,
    `${space}{{- end }}`,
    `${space}{{- with .Values.watchNamespaces }}`,
    `${space}- --watch-namespaces={{ join "," . }}`,
    `${space}{{- end }}`,
    ...Object.entries(FLAGS).flatMap(([value, flag]) => [
      `${space}{{- with .Values.${value} }}`,
      `${space}- --${flag}={{ . }}`,
      `${space}{{- end }}`,
    ]),
    `${entries(".Values.extraArgs")(indent)}`,
  ].join("\n");
};

/** Annotations by which Helm, Argo CD and Flux keep an object. */
const KEPT = { ...KEPT_BY_GITOPS, "helm.sh/resource-policy": "keep" };

/** Keeps the definitions. Otherwise Helm asks to delete them, which the policy refuses without a further annotation. */
const crdAnnotations: Block = (indent) => {
  const space = " ".repeat(indent);
  const keep = stringify({ annotations: KEPT }, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, space);
  return `${space}{{- if .Values.crds.keep }}\n${keep}${space}{{- end }}\n`;
};

/** The given affinity, or else the usual one. */
function affinityOr(usual: unknown): Block {
  return (indent) => {
    const space = " ".repeat(indent);
    const own = stringify({ affinity: usual }, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, space);
    return `${space}{{- if .Values.affinity }}\n${space}affinity: {{- toYaml .Values.affinity | nindent ${indent + 2} }}\n${space}{{- else }}\n${own}${space}{{- end }}\n`;
  };
}

interface PodSpec {
  readonly affinity: unknown;
  readonly tolerations: readonly unknown[];
  readonly containers: readonly [{ readonly args: readonly string[] }];
}

/** The Deployment with marks for the values of the chart. */
function marked(deployment: Manifest): { object: Manifest; affinity: unknown } {
  const { template, ...spec } = deployment.spec as { template: { spec: PodSpec } };
  const { affinity, tolerations, containers, ...pod } = template.spec;
  const [operator] = containers;
  const own = {
    ...operator,
    imagePullPolicy: mark("PULL_POLICY"),
    // The flag with the repository is one of the arguments that the mark stands for.
    args: [...operator.args.filter((arg) => !arg.includes(mark("REPOSITORIES"))), mark("ARGS")],
    resources: mark("RESOURCES"),
  };
  const podSpec = {
    ...pod,
    imagePullSecrets: mark("PULL_SECRETS"),
    priorityClassName: mark("PRIORITY_CLASS"),
    nodeSelector: mark("NODE_SELECTOR"),
    affinity: mark("AFFINITY"),
    tolerations: [...tolerations, mark("TOLERATIONS")],
    containers: [own],
  };
  const object = {
    ...deployment,
    spec: { ...spec, replicas: mark("REPLICAS"), template: { ...template, spec: podSpec } },
  };
  return { object, affinity };
}

/** The objects with marks in place of the image, the namespace and the repositories of etcd's images. */
function withMarks<T>(objects: readonly T[]): T[] {
  const isKnown = `each.image.startsWith('${mark("REPOSITORIES")}:v')`;
  const text = JSON.stringify(objects)
    .replaceAll(isKnown, mark("KNOWN_IMAGES"))
    .replaceAll(OPERATOR_NAMESPACE, mark("NAMESPACE"));
  return JSON.parse(text) as T[];
}

function snippets(affinity: unknown): Snippets {
  const blocks = {
    AFFINITY: affinityOr(affinity),
    ARGS: moreArgs,
    CRD_ANNOTATIONS: crdAnnotations,
    [LABELS.podMonitor]: field("labels", ".Values.monitoring.podMonitor.labels"),
    [LABELS.prometheusRule]: fields(".Values.monitoring.prometheusRule.labels"),
    NODE_SELECTOR: field("nodeSelector", ".Values.nodeSelector"),
    PRIORITY_CLASS: field("priorityClassName", ".Values.priorityClassName"),
    PULL_SECRETS: field("imagePullSecrets", ".Values.image.pullSecrets"),
    RESOURCES: field("resources", ".Values.resources"),
    TEST_TOLERATIONS: field("tolerations", ".Values.tolerations"),
    TOLERATIONS: entries(".Values.tolerations"),
    WATCHED: entries(".Values.watchNamespaces"),
  };
  return { inline: INLINE, blocks };
}

/** Templates by path. */
function templates(): Map<string, string> {
  const roles = new Set(peopleRoles().map(({ metadata }) => metadata.name));
  const isForPeople = ({ metadata }: Manifest) => roles.has(metadata.name);
  const manifests = (namespaces?: readonly string[]) =>
    withMarks(operatorManifests(mark("IMAGE"), "bound", [mark("REPOSITORIES")], namespaces)).map(keptIfNeeded);
  const all = manifests();
  const watched = manifests([mark("WATCHED")]).filter(({ kind }) => kind !== "Deployment");
  const inEach = manifests([mark("ONE_NAMESPACE")]).filter((each) => !all.some((one) => isSame(one, each)));
  const deployment = all.find(({ kind }) => kind === "Deployment");
  if (deployment === undefined) throw new Error("the manifests have no Deployment");
  const { object, affinity } = marked(deployment);
  const made = (objects: readonly unknown[]) => templateOf(objects, snippets(affinity));
  const of = (isIn: (object: Manifest) => boolean) => made(all.filter(isIn));
  const forEach = (values: string, objects: readonly unknown[]) =>
    `{{- range ${values} }}\n---\n${made(objects).replaceAll(".Release", "$.Release")}{{- end }}\n`;
  const whenWatched = watched.filter((each) => isDifferentIn(all, each));
  const otherwise = all.filter((each) => isDifferentIn(watched, each));
  const files = new Map([
    ["templates/_helpers.tpl", HELPERS],
    ["templates/NOTES.txt", NOTES],
    ["templates/deployment.yaml", made([object])],
    [
      "templates/network-policy.yaml",
      onlyIf(
        ".Values.networkPolicy.enabled",
        of(({ kind }) => kind === "NetworkPolicy"),
      ),
    ],
    [
      "templates/monitoring.yaml",
      Object.entries(monitoringObjects())
        .map(([value, objects]) => onlyIf(`.Values.monitoring.${value}.enabled`, `---\n${made(withMarks(objects))}`))
        .join(""),
    ],
    ["templates/roles-for-people.yaml", onlyIf(".Values.rolesForPeople", of(isForPeople))],
    [
      "templates/secrets-everywhere.yaml",
      onlyIf("not (or .Values.secretsOf .Values.watchNamespaces)", made(withMarks([secretsEverywhere()]))),
    ],
    [
      "templates/secrets-of.yaml",
      forEach(".Values.secretsOf | default .Values.watchNamespaces", withMarks([secretsIn(mark("ONE_NAMESPACE"))])),
    ],
    ["templates/tests/self-test.yaml", made(selfTestObjects())],
    ["templates/watched-namespaces.yaml", forEach(".Values.watchNamespaces", inEach)],
    [
      "templates/by-namespaces.yaml",
      `{{- if .Values.watchNamespaces }}\n${made(whenWatched)}{{- else }}\n${made(otherwise)}{{- end }}\n`,
    ],
  ]);
  const elsewhere = ["Namespace", "Deployment", "NetworkPolicy"];
  files.set(
    "templates/operator.yaml",
    of((each) => !elsewhere.includes(each.kind) && !isForPeople(each) && !otherwise.includes(each)),
  );
  for (const crd of withMarks(crdManifests())) {
    const metadata = { ...crd.metadata, annotations: mark("CRD_ANNOTATIONS") };
    files.set(`templates/crds/${crd.metadata.name}.yaml`, onlyIf(".Values.crds.enabled", made([{ ...crd, metadata }])));
  }
  return files;
}

/** Objects that protect the definitions stay with them when the release is uninstalled. */
function keptIfNeeded(object: Manifest): Manifest {
  if (object.metadata.name !== DEFINITIONS_POLICY) return object;
  return { ...object, metadata: { ...object.metadata, annotations: KEPT } as Manifest["metadata"] };
}

/** Whether the object is one of these with another content. */
function isDifferentIn(objects: readonly Manifest[], object: Manifest): boolean {
  return objects.some((each) => isSame(each, object) && !isSameData(each, object));
}

function isSame(one: Manifest, other: Manifest): boolean {
  return one.kind === other.kind && one.metadata.name === other.metadata.name;
}

/**
 * Files of the chart by path.
 * @param version of the operator @param image its image, with tag: the default of the chart
 */
export function chartFiles(version: string, image: string): ReadonlyMap<string, string> {
  const schema = valuesSchema(image);
  // zod does not check defaults.
  schema.parse(schema.parse({}));
  return new Map([
    ["Chart.yaml", chartYaml(version, image)],
    ["values.yaml", valuesYaml(schema)],
    ["values.schema.json", `${JSON.stringify(z.toJSONSchema(schema, { io: "input" }), undefined, 2)}\n`],
    ...templates(),
  ]);
}
