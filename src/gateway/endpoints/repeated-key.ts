import { endOfString } from '../../kube/client/json-bounds.ts';

/** Whether an object in a JSON text has a key twice: readers differ about which one counts. The text can be read as JSON. */
export function hasRepeatedKey(json: string): boolean {
  /** Keys of the objects that are open; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '{':
        open.push(new Set());
        isKeyNext = true;
        break;
      case '[':
        open.push(undefined);
        isKeyNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        isKeyNext = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(json, at);
        if (isKeyNext && isRepeated(open.at(-1), json.slice(at, end + 1))) return true;
        isKeyNext = false;
        at = end;
      }
    }
  }
  return false;
}

/** One key can be written in several ways. */
function isRepeated(keys: Set<string> | undefined, text: string): boolean {
  const key: string = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
  if (keys?.has(key)) return true;
  keys?.add(key);
  return false;
}
