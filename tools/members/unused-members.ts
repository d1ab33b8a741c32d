/** Source files by path, without tests. */
export type Sources = ReadonlyMap<string, string>;

/**
 * Public members of classes that no other line names, as `file: Class.member`. It compares words, not types: a member
 * that shares its name with anything else counts as used. Classes that implement or extend something are left out,
 * because their members may be called by it; so are members whose comment says `@public` and why, and generated files.
 */
export function unusedMembers(sources: Sources): readonly string[] {
  // The policies are text in a generated file, and the names of their fields use nothing.
  const written = [...sources].filter(([path]) => !path.includes('/generated/'));
  const texts = written.map(([path, text]) => [path, withoutComments(text)] as const);
  const uses = countWords(texts.map(([, text]) => text).join('\n'));
  return texts.flatMap(([path, text]) =>
    classesIn(text).flatMap(({ name, members }) =>
      members
        .filter(({ word, isKey }) => (uses.get(word) ?? 0) === (isKey ? 0 : 1))
        .map(({ word }) => `${path}: ${name}.${word}`),
    ),
  );
}

const withoutComments = (text: string): string =>
  text
    .replace(/\/\*\*(?:(?!\*\/)[\s\S])*@public[\s\S]*?\*\/\s*/g, '@public ')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '');

/** A name before a colon: a key of a type or an object, or a member that has only a type. */
const key = /(?:^ *|[{,(] )(?:(?:static|readonly) )*[a-z]\w*(?=[?!]?:)/gm;

/** How often each word is used; a key uses nothing. */
function countWords(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.replace(key, '').matchAll(/#?[A-Za-z_$][\w$]*/g))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** By the indentation that the formatter gives: a class stands at the margin, its members two columns in. */
function classesIn(text: string) {
  const found = text.matchAll(/^(?:export )?(?:abstract )?class (\w+)(<.*>)? \{\n([\s\S]*?)^\}/gm);
  return [...found].map(([, name = '', , body = '']) => ({ name, members: membersIn(body) }));
}

function membersIn(body: string) {
  const declared = body.matchAll(
    /^ {2}(?:(?:static|readonly|async|get|set) )*([a-z]\w*)(?:(?=([?!]?:))|(?= ?[<(;=]))/gm,
  );
  return [...declared]
    .map(([, word = '', colon]) => ({ word, isKey: colon !== undefined }))
    .filter(({ word }) => word !== 'constructor');
}
