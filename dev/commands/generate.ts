import { generate } from "../../scripts/generate.ts";
import { step } from "../progress.ts";
import { run } from "../run.ts";

const changed = await generate(process.cwd());
console.log(changed.length === 0 ? "All generated files are up to date." : `Written: ${changed.join(", ")}`);
if (process.argv.includes("--etcd")) {
  await step("etcd's API from its protos (src/etcd/proto)", () => run(process.execPath, ["scripts/etcd-protos.ts"]));
  await step("etcd's flags from its binaries (src/etcd/flags)", () => run(process.execPath, ["scripts/etcd-flags.ts"]));
} else {
  console.log(
    "etcd's API and flags change only with a new etcd version, and were left out: npm run generate -- --etcd",
  );
}
