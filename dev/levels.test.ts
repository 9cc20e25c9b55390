import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { E2E_COMPONENTS } from "./levels.ts";

/** What tests import to start it → what that is. */
const STARTED_BY = { "#kit/versitygw.ts": "versitygw", "#kit/fake-gcs.ts": "fake-gcs-server" };

test("levels: what end-to-end tests start besides Kubernetes is built before, since nothing can be downloaded where they run", () => {
  const folder = join(import.meta.dirname, "..", "test", "e2e");
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const started = Object.entries(STARTED_BY).filter(([kit]) => files.some((text) => text.includes(`"${kit}"`)));
  expect(started.map(([, component]) => component)).toEqual([...E2E_COMPONENTS]);
});
