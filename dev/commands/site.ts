import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { step } from "../progress.ts";
import { buildSite } from "../site.ts";

const USAGE = `Builds the documentation site into site/dist, from README.md and docs. It installs the packages of site/package.json first.

  npm run site [-- --base /PATH/]   the path at which a web server will serve the site; / without it`;

async function main(argv: readonly string[]): Promise<void> {
  const { values } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const base = values.base ?? "/";
  if (!/^\/([\w.~-]+\/)*$/.test(base))
    throw new Failure(`--base is ${base}; it must begin and end with a slash, such as /etcd-cluster-operator/.`);
  await buildSite(step, base);
  console.log("The site is in site/dist. Any web server can serve it.");
}

function parse(argv: readonly string[]) {
  return argumentsOf(argv, USAGE, { options: { help: { type: "boolean" }, base: { type: "string" } } });
}

await runCommand(main);
