import { reasonTexts } from '../../src/api/reason-texts.ts';

/** Renders src/page/generated/fixes.js: what a reader of a reason does, for the page, whose scripts import nothing of the program. */
export function fixesModule(): string {
  const fixes = Object.entries(reasonTexts).flatMap(([reason, { fix }]) =>
    fix === undefined ? [] : [[reason, fix.replaceAll('`', '')]],
  );
  const object = JSON.stringify(Object.fromEntries(fixes), undefined, 2);
  return `/** Written by npm run generate from src/api/reason-texts.ts. @type {Readonly<Record<string, string>>} */\nexport const fixes = ${object};\n`;
}
