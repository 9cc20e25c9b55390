import { resolve } from "node:path";
import { OPERATOR } from "#api/names.ts";
import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { bundlePrograms } from "../operator-image.ts";
import { stepsOn } from "../progress.ts";
import { ARTIFACTS } from "../release/artifacts.ts";
import { changes } from "../release/changelog.ts";
import { checkedDocs, checkedRepository, checkedVersion, checkFolder, commitOf } from "../release/checks.ts";
import { checkPackages } from "../release/packages.ts";
import { partsOf } from "../release/parts.ts";
import { writeRelease } from "../release/release.ts";

const USAGE = `Writes a release into a folder: manifests, Helm chart, kustomize base, image for amd64 and arm64, SBOMs, provenance and
checksums. The same commit gives the same bytes. Needs Debian, and network for what is not in the cache.

  npm run release -- VERSION                     VERSION is such as 0.2.0; the folder is dist/release-VERSION
  npm run release -- VERSION --image REPOSITORY  the image that all manifests name, such as
                                                 registry.example/etcd-cluster-operator; the tag is the version.
                                                 Default: localhost/${OPERATOR}, for nodes into which it is imported
  npm run release -- VERSION --source URL        address of the repository in the image's labels and the provenance
  npm run release -- VERSION --docs URL          address of the site with the documentation, to which alerts link
  npm run release -- VERSION --folder FOLDER     another folder; it must be empty or missing
  npm run release -- VERSION --allow-dirty       files may differ from the commit

docs/releasing.md has the commands that sign and publish the folder.`;

async function main(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [text, ...others] = positionals;
  if (text === undefined || others.length > 0) throw new Failure(`Name one VERSION.\n\n${USAGE}`);
  const root = process.cwd();
  const version = checkedVersion(text);
  const image = `${checkedRepository(values.image)}:${version}`;
  const folder = resolve(values.folder ?? `dist/release-${version}`);
  checkFolder(folder);
  changes(root, version);
  const commit = await commitOf(root, values["allow-dirty"], process.env.SOURCE_DATE_EPOCH);
  const source = values.source === undefined ? {} : { source: values.source };
  const docs = values.docs === undefined ? {} : { docs: checkedDocs(values.docs) };
  const step = stepsOn(process.stderr);
  const programs = await step("programs from the packages of package-lock.json", async (note) => {
    note("bundling");
    const made = await bundlePrograms(root);
    note("comparing with a new npm ci");
    await checkPackages(root, made.sources);
    return made;
  });
  const parts = partsOf(root, programs.sources);
  await writeRelease({ root, folder, version, image, programs, parts, ...commit, ...source, ...docs }, ARTIFACTS, step);
  console.log(folder);
}

function parse(argv: readonly string[]) {
  const options = {
    help: { type: "boolean" },
    image: { type: "string", default: `localhost/${OPERATOR}` },
    source: { type: "string" },
    docs: { type: "string" },
    folder: { type: "string" },
    "allow-dirty": { type: "boolean", default: false },
  } as const;
  return argumentsOf(argv, USAGE, { options, allowPositionals: true });
}

await runCommand(main);
