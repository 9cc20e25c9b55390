import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { z } from "zod";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { backupSpecSchema } from "#api/v1beta1/backup-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";
import { roleSpecSchema } from "#api/v1beta1/role-schema.ts";
import { scheduleSpecSchema } from "#api/v1beta1/schedule-schema.ts";
import { userSpecSchema } from "#api/v1beta1/user-schema.ts";

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  EtcdBackup: backupSpecSchema,
  EtcdBackupSchedule: scheduleSpecSchema,
  EtcdCluster: clusterSpecSchema,
  EtcdRestore: restoreSpecSchema,
  EtcdRole: roleSpecSchema,
  EtcdUser: userSpecSchema,
};

interface Example {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly podTemplate?: object };
}

const examples = readdirSync("examples").flatMap((file) =>
  parseAllDocuments(readFileSync(`examples/${file}`, "utf8"))
    .map((document) => document.toJS() as Example)
    .filter(({ apiVersion }) => apiVersion === "etcd.improbable.io/v1beta1")
    .map((object) => ({ of: `${file}: ${object.kind} ${object.metadata.name}`, object })),
);

describe.each(examples)("example $of", ({ object: { kind, metadata, spec } }) => {
  test("has only fields of its kind, with valid values", () => {
    expect(SCHEMAS[kind]?.parse(spec)).toMatchObject(spec);
  });

  test.runIf(spec.podTemplate)("has a pod template that the operator accepts", () => {
    expect(whyNotTemplate(spec.podTemplate ?? {}, metadata.name)).toEqual([]);
  });
});
