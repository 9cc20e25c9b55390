import { copyFile } from "node:fs/promises";
import { Failure } from "../failure.ts";
import { ensureOperatorImage } from "../operator-image.ts";
import { stepsOn } from "../progress.ts";

const USAGE = `The operator's image as a file, for a registry or for another machine's kind. Needs Linux.

  npm run image -- FILE.tar     writes an OCI image archive, as "kind load image-archive" and "skopeo copy oci-archive:FILE.tar" read it`;

async function main([file, ...rest]: readonly string[]): Promise<void> {
  if (file === "--help") {
    console.log(USAGE);
    return;
  }
  if (file === undefined || file.startsWith("-") || rest.length > 0) throw new Failure(USAGE);
  if (process.platform !== "linux")
    throw new Failure(`the image is made of Linux programs; this system is ${process.platform}`);
  const archive = await ensureOperatorImage(process.cwd(), stepsOn(process.stderr));
  await copyFile(archive.file, file);
  console.log(archive.name);
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
