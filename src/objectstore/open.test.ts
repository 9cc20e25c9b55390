import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openStore } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "credentials-"));
afterAll(() => rmSync(folder, { recursive: true }));

const location = { store: "s3", bucket: "backups", region: "eu-1" } as const;

function mounted(name: string, ...files: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of files) writeFileSync(join(path, file), "x");
  return path;
}

test("an optional Secret that does not exist leaves the pod's own identity to be used", async () => {
  for (const path of [mounted("empty"), mounted("kubelet", "..data")])
    await (await openStore(location, { credentialsDir: path })).close();
});

test("a named Secret that does not exist yet is an error that may pass, and the pod's own identity is not used", async () => {
  for (const path of [mounted("none"), mounted("kubelet-none", "..data")]) {
    const opened = openStore(location, { credentialsDir: path, needsCredentials: true });
    await expect(opened).rejects.toMatchObject({ reason: "WrongCredentials", mayPass: true });
  }
});

test("an incomplete or unmounted Secret fails, and the pod's own identity is not used", async () => {
  for (const path of [mounted("other", "ca.crt", "AWS_SESSION_TOKEN"), join(folder, "nowhere")]) {
    const opened = openStore(location, { credentialsDir: path });
    await expect(opened).rejects.toMatchObject({ reason: "WrongCredentials" });
  }
});
