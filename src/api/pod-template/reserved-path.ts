/** Whether the paths are equal, or one is above the other. @param path any value from a user's template */
export function leadsTo(path: unknown, place: string): boolean {
  if (typeof path !== "string") return false;
  const [mount, data] = [partsOf(path), partsOf(place)];
  const common = Math.min(mount.length, data.length);
  return mount.slice(0, common).join("/") === data.slice(0, common).join("/");
}

/** Normalized parts of a path. Like the kubelet, treats a relative path as absolute. */
function partsOf(path: string): readonly string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}
