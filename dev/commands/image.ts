import { copyFile } from "node:fs/promises";
import { runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { ensureOperatorImage } from "../operator-image.ts";
import { updateLock } from "../pinned/debian.ts";
import { stepsOn } from "../progress.ts";

const USAGE = `Writes the operator's image to a file, for a registry or for kind on another machine. Needs Linux.

  npm run image -- FILE.tar             writes an OCI image archive, and prints the image's name
  npm run image -- --update-libraries   pins the newest versions of the Debian packages with the libraries of the
                                        released image (npm run release); needs Debian

The image is for this machine's architecture, and has this machine's libraries. "kind load image-archive" and
"skopeo copy oci-archive:FILE.tar" read the file.`;

async function main([file, ...rest]: readonly string[]): Promise<void> {
  if (file === "--help") {
    console.log(USAGE);
    return;
  }
  if (file === "--update-libraries" && rest.length === 0) {
    await stepsOn(process.stderr)("versions of Debian's libraries pinned", updateLock);
    return;
  }
  if (file === undefined || file.startsWith("-") || rest.length > 0) throw new Failure(USAGE);
  if (process.platform !== "linux")
    throw new Failure(
      `The image contains Linux programs and can be built only on Linux; this system is ${process.platform}.`,
    );
  const archive = await ensureOperatorImage(process.cwd(), stepsOn(process.stderr));
  await copyFile(archive.file, file);
  console.log(archive.name);
}

await runCommand(main);
