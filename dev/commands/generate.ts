import { generate } from "../../scripts/generate.ts";

const changed = await generate(process.cwd());
console.log(changed.length === 0 ? "generated files are up to date" : `written: ${changed.join(", ")}`);
