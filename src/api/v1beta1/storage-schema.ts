import { z } from "zod";
import { ATOMIC, DEFAULT_STORAGE, size } from "#api/common-schema.ts";

export const DEFAULT_STORAGE_SPEC = { size: DEFAULT_STORAGE, accessModes: ["ReadWriteOnce" as const] };

/** One rule a field, so that the message names the field. Adding or removing a field is a change, too. */
function stays(field: string) {
  const [now, before] = [`self.${field}`, `oldSelf.${field}`];
  // The size is compared by value: a client that reads `0.5Ti` may write `512Gi`.
  const isSame =
    field === "size"
      ? `(!isQuantity(string(${now})) || quantity(string(${now})).compareTo(quantity(string(${before}))) == 0)`
      : `${now} == ${before}`;
  return {
    rule: `has(${now}) == has(${before}) && (!has(${now}) || ${isSame})`,
    fieldPath: `.${field}`,
    message: `${field} cannot be changed after creation; make a new cluster to use other volumes`,
  };
}
const FIXED = ["size", "storageClassName", "accessModes", "volumeAttributesClassName", "selector"].map(stays);

export const storageSchema = z
  .object({
    size: size.default(DEFAULT_STORAGE).describe("Size of each member's volume."),
    storageClassName: z
      .string()
      .max(253)
      .optional()
      .describe("Storage class; without it the default class of the Kubernetes cluster is used."),
    accessModes: z
      .array(z.enum(["ReadWriteOnce", "ReadWriteOncePod"]))
      .min(1)
      .max(1)
      .meta(ATOMIC)
      .default(["ReadWriteOnce"])
      .describe("One mode; a volume belongs to one member, so shared modes are not accepted."),
    volumeAttributesClassName: z.string().max(253).optional().describe("As in a PersistentVolumeClaim."),
    selector: z
      .looseObject({})
      .optional()
      .describe("Label selector for existing volumes, as in a PersistentVolumeClaim."),
  })
  .meta({ "x-kubernetes-validations": FIXED })
  .describe("Where members keep their data. Claims outlive the cluster: deleting it keeps them.");
