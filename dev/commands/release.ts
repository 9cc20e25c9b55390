import { resolve } from "node:path";
import { OPERATOR } from "#api/names.ts";
import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { bundlePrograms } from "../operator-image.ts";
import { bundlePlugin } from "../plugin/bundle.ts";
import { PLATFORMS } from "../plugin/platforms.ts";
import { stepsOn } from "../progress.ts";
import { ARTIFACTS } from "../release/artifacts.ts";
import { changes } from "../release/changelog.ts";
import { checkedRepository, checkedUrl, checkedVersion, checkFolder, commitOf } from "../release/checks.ts";
import { checkPackages } from "../release/packages.ts";
import { partsOf } from "../release/parts.ts";
import { checkedPlatforms } from "../release/plugin.ts";
import { type Release, writeRelease } from "../release/release.ts";

const USAGE = `Writes a release into a folder: manifests, Helm chart, kustomize base, image for amd64 and arm64, SBOMs, kubectl
plugin, provenance and checksums. The same commit gives the same bytes. Needs Debian, and network for what is not in the cache.

  npm run release -- VERSION                     VERSION is such as 0.2.0; the folder is dist/release-VERSION
  npm run release -- VERSION --image REPOSITORY  the image that all manifests name, such as
                                                 registry.example/etcd-cluster-operator; the tag is the version.
                                                 Default: localhost/${OPERATOR}, for nodes into which it is imported
  npm run release -- VERSION --source URL        address of the repository in the image's labels and the provenance
  npm run release -- VERSION --docs URL          address of the site with the documentation, to which alerts link;
                                                 without it they have no links
  npm run release -- VERSION --plugin-url URL    address of the folder from which the archives of the kubectl plugin will be
                                                 downloaded, for Krew's manifest; without it there is none
  npm run release -- VERSION --plugin-platforms OS/ARCH,OS/ARCH
                                                 platforms of the kubectl plugin, such as linux/amd64; default: all
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
  const docs = values.docs === undefined ? {} : { docs: checkedUrl("--docs", values.docs) };
  const plugin = pluginOf(values);
  const step = stepsOn(process.stderr);
  const { programs, sources } = await step("programs from the packages of package-lock.json", async (note) => {
    note("bundling");
    const made = await bundlePrograms(root);
    const all = [...made.sources, ...(await bundlePlugin(root, version)).sources];
    note("comparing with a new npm ci");
    await checkPackages(root, all);
    return { programs: made, sources: all };
  });
  const parts = partsOf(root, programs.sources);
  const inputs = partsOf(root, sources, plugin.platforms);
  await writeRelease(
    { root, folder, version, image, programs, parts, inputs, plugin, ...commit, ...source, ...docs },
    ARTIFACTS,
    step,
  );
  console.log(folder);
}

function pluginOf(values: ReturnType<typeof parse>["values"]): Release["plugin"] {
  const platforms = checkedPlatforms(values["plugin-platforms"]);
  const { "plugin-url": text, source } = values;
  if (text === undefined) return { platforms };
  const url = checkedUrl("--plugin-url", text);
  if (source === undefined || platforms.length < PLATFORMS.length)
    throw new Failure(
      "--plugin-url is for Krew's manifest, which names the address of the repository and all platforms. Add --source, and leave out --plugin-platforms.",
    );
  return { platforms, url };
}

function parse(argv: readonly string[]) {
  const options = {
    help: { type: "boolean" },
    image: { type: "string", default: `localhost/${OPERATOR}` },
    source: { type: "string" },
    docs: { type: "string" },
    "plugin-url": { type: "string" },
    "plugin-platforms": { type: "string" },
    folder: { type: "string" },
    "allow-dirty": { type: "boolean", default: false },
  } as const;
  return argumentsOf(argv, USAGE, { options, allowPositionals: true });
}

await runCommand(main);
