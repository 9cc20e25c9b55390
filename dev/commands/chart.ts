import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { chartFiles } from "../../scripts/chart/chart.ts";
import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";

const USAGE = `Writes the Helm chart of the operator into a folder, and replaces an earlier chart there.

  npm run -s chart -- --image IMAGE FOLDER   IMAGE is such as registry.example/etcd-cluster-operator:0.1.0

  helm install etcd-cluster-operator FOLDER --namespace etcd-operator-system --create-namespace`;

function main(argv: readonly string[]): void {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [folder, ...others] = positionals;
  if (values.image === undefined)
    throw new Failure(`--image is missing: name an image that the cluster can pull.\n\n${USAGE}`);
  if (!/^[^:]+(:[0-9]+\/[^:]+)?:[^:/]+$/.test(values.image))
    throw new Failure(
      `--image is ${values.image}; it must be an image with a tag, such as registry.example/operator:1.`,
    );
  if (folder === undefined || others.length > 0) throw new Failure(`Name one folder for the chart.\n\n${USAGE}`);
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
  rmSync(join(folder, "templates"), { recursive: true, force: true });
  for (const [path, text] of chartFiles(version, values.image)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  console.log(`The chart is in ${folder}.`);
}

function parse(argv: readonly string[]) {
  const options = { help: { type: "boolean" }, image: { type: "string" } } as const;
  return argumentsOf(argv, USAGE, { options, allowPositionals: true });
}

await runCommand(main);
