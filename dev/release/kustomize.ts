import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { OPERATOR, TLS_ROLE } from "#api/names.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";
import { withRunbooks } from "../../scripts/monitoring/rules.ts";
import type { Manifest } from "../../scripts/own.ts";
import { yamlOf } from "../../scripts/yaml.ts";
import { type Release, writeText } from "./release.ts";

const API = "kustomize.config.k8s.io";
const COMPONENT = { apiVersion: `${API}/v1alpha1`, kind: "Component" };
const KUSTOMIZATION = { apiVersion: `${API}/v1beta1`, kind: "Kustomization" };
/** Shards in the component; each has a replica. */
const SHARDS = 2;

const SHARDS_TEXT = `# Divides the clusters among replicas. For another number change both values.
`;
const SECRETS_TEXT = `# Takes the operator's right to Secrets of all namespaces away. Give it for each namespace with clusters:
#   kubectl create rolebinding ${TLS_ROLE} --namespace NAMESPACE --clusterrole ${TLS_ROLE} --serviceaccount ${OPERATOR_NAMESPACE}:${OPERATOR}
`;

/**
 * Files for kustomize by path. The folder itself gives the objects of operator.yaml.
 * @param monitoring manifests for monitoring by file name
 */
export function kustomizeFiles(image: string, monitoring: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const all = operatorManifests(image);
  const isPolicy = ({ kind }: Manifest) => kind === "NetworkPolicy";
  const kustomization = (fields: object) => stringify({ ...KUSTOMIZATION, ...fields }, { lineWidth: 0 });
  const component = (fields: object) => stringify({ ...COMPONENT, ...fields }, { lineWidth: 0 });
  const deployment = { kind: "Deployment", name: OPERATOR };
  const flag = [{ op: "add", path: "/spec/template/spec/containers/0/args/-", value: `--shards=${SHARDS}` }];
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: TLS_ROLE },
    $patch: "delete",
  };
  const files = {
    "kustomization.yaml": kustomization({ resources: ["base"], components: ["components/network-policy"] }),
    "base/kustomization.yaml": kustomization({ resources: ["crds.yaml", "operator.yaml"] }),
    "base/crds.yaml": yamlOf(crdManifests()),
    "base/operator.yaml": yamlOf(all.filter((each) => !isPolicy(each))),
    "components/network-policy/kustomization.yaml": component({ resources: ["network-policy.yaml"] }),
    "components/network-policy/network-policy.yaml": yamlOf(all.filter(isPolicy)),
    "components/shards/kustomization.yaml": `${SHARDS_TEXT}${component({
      replicas: [{ name: OPERATOR, count: SHARDS }],
      patches: [{ target: deployment, patch: stringify(flag) }],
    })}`,
    "components/secrets-of/kustomization.yaml": `${SECRETS_TEXT}${component({
      patches: [{ patch: stringify(binding) }],
    })}`,
  };
  const watched = [...monitoring].map(([name, text]) => [`components/monitoring/${name}`, text] as const);
  const index = component({ resources: [...monitoring.keys()] });
  return new Map([
    ...Object.entries(files),
    ...(watched.length === 0 ? [] : [["components/monitoring/kustomization.yaml", index] as const, ...watched]),
  ]);
}

/** Writes the folder `kustomize`, and the files of config/monitoring where there are any. */
export function writeKustomize(release: Release): void {
  const monitoring = monitoringFiles(release);
  for (const [path, text] of monitoring) writeText(release, `monitoring/${path}`, text);
  const objects = new Map([...monitoring].filter(([path, text]) => isManifest(path, text)));
  for (const [path, text] of kustomizeFiles(release.image, objects)) writeText(release, `kustomize/${path}`, text);
}

/** Files of config/monitoring by path, with links to the release's documentation. */
export function monitoringFiles({ root, docs }: Pick<Release, "root" | "docs">): ReadonlyMap<string, string> {
  const folder = join(root, "config", "monitoring");
  const paths = existsSync(folder) ? (readdirSync(folder, { recursive: true }) as string[]) : [];
  const files = paths.filter((path) => /\.(ya?ml|json)$/.test(path)).sort();
  const text = (path: string) => withRunbooks(readFileSync(join(folder, path), "utf8"), docs);
  return new Map(files.map((path) => [path, text(path)]));
}

/** Whether a file has objects of Kubernetes, other than a plain file of rules or a dashboard. */
function isManifest(path: string, text: string): boolean {
  return /\.ya?ml$/.test(path) && parseAllDocuments(text).every((each) => "toJS" in each && each.toJS()?.kind);
}
