import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { buildPlugin, ownVersion } from "../plugin/build.ts";
import { PLATFORMS } from "../plugin/platforms.ts";
import { stepsOn } from "../progress.ts";

const USAGE = `Builds the kubectl plugin into a folder: an archive per platform and an npm package.
With --url and all platforms, also Krew's manifest.

  npm run plugin -- FOLDER [flags]

  --version VERSION   release; default: that of package.json
  --url URL           folder from which the archives will be downloaded; needed for Krew's manifest
  --only OS/ARCH      one platform, such as linux/amd64; default: all`;

const HOME = "https://example.org/etcd-cluster-operator";

async function main(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new Failure(`Name one folder for the plugin.\n\n${USAGE}`);
  const root = process.cwd();
  const version = values.version ?? ownVersion(root);
  if (!/^\d+\.\d+\.\d+(-[-.0-9A-Za-z]+)?$/.test(version))
    throw new Failure(`--version is ${version}; it must be a release such as 0.2.0.`);
  const platforms = PLATFORMS.filter(({ os, arch }) => values.only === undefined || values.only === `${os}/${arch}`);
  if (platforms.length === 0)
    throw new Failure(
      `--only is ${values.only}; it must be one of ${PLATFORMS.map(({ os, arch }) => `${os}/${arch}`).join(", ")}.`,
    );
  const { url } = values;
  if (url !== undefined && URL.parse(url)?.protocol !== "https:")
    throw new Failure(`--url is ${url}; it must be an https URL of a folder.`);
  const names = await stepsOn(process.stderr)("kubectl plugin", (note) =>
    buildPlugin(root, folder, { version, url, homepage: HOME, platforms, note }),
  );
  console.log(names.join("\n"));
}

function parse(argv: readonly string[]) {
  const options = {
    help: { type: "boolean" },
    version: { type: "string" },
    url: { type: "string" },
    only: { type: "string" },
  } as const;
  return argumentsOf(argv, USAGE, { options, allowPositionals: true });
}

await runCommand(main);
