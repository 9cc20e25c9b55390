import { parseArgs } from "node:util";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { secretsIn } from "../../scripts/rights.ts";
import { yamlOf } from "../../scripts/yaml.ts";
import { namespacesIn } from "../deploy.ts";
import { Failure } from "../failure.ts";

const USAGE = `Everything that installs the operator, or upgrades it, as YAML for kubectl, GitOps and the like.

  npm run -s manifests -- --image IMAGE                                   such as registry.example/etcd-cluster-operator:0.1.0
  npm run -s manifests -- --image IMAGE --secrets-of NAMESPACE,NAMESPACE  it may read and write Secrets of clusters only in these, which are there

  npm run -s manifests -- --image IMAGE | kubectl apply --server-side --force-conflicts -f -`;

function main(argv: readonly string[]): void {
  const { help, image, "secrets-of": secretsOf } = parse(argv);
  if (help) {
    console.log(USAGE);
    return;
  }
  if (image === undefined) throw new Failure(`--image is missing: it is one that the cluster can pull\n\n${USAGE}`);
  const bindings = secretsOf === undefined ? [] : namespacesIn(secretsOf).map(secretsIn);
  const operator = operatorManifests(image, secretsOf === undefined ? "everywhere" : "bound");
  process.stdout.write(yamlOf([...crdManifests(), ...operator, ...bindings]));
}

function parse(argv: readonly string[]) {
  const options = {
    help: { type: "boolean" },
    image: { type: "string" },
    "secrets-of": { type: "string" },
  } as const;
  try {
    return parseArgs({ args: [...argv], options }).values;
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
  }
}

try {
  main(process.argv.slice(2));
} catch (thrown) {
  // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
