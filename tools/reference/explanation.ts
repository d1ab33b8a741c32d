/** Verbs that may begin the text of a field. Add one only where no noun says what the field holds. */
const verbs = ['Allows', 'Counts', 'Limits', 'Marks', 'Puts', 'Refuses', 'Tells'];

/** Words that begin no noun phrase: questions, conditions, places, pronouns, and remarks about the field in place of what it is. */
const beginsNothing = new Set(
  [
    'how what when where which who whose why whether',
    'if unless because as at by for from in of on to with without until',
    'it its this these that those you your they their there',
    'is are was be can may must should will do does has have needs',
    'set use used see pass specify optional required deprecated absent empty defaults only never not',
  ].flatMap((words) => words.split(' ')),
);

/**
 * Why a text of `kubectl explain` does not begin with what its field does or holds; nothing where it does. It begins with a verb in the
 * third person, or with a noun and what says which one.
 */
export function explanationProblem(text: string): string | undefined {
  const whole = text.trim().replaceAll(/\s+/g, ' ');
  const [phrase = ''] = whole.split(/[.;:](?= |$)/);
  const [first = '', ...others] = phrase.split(' ');
  if (!/^[A-Z].*[.)]$/.test(whole)) return 'is no whole sentence';
  if (others.length < 2) return 'does not say which one it is';
  if (verbs.includes(first)) return undefined;
  if (beginsNothing.has(first.toLowerCase())) return `begins with "${first}"`;
  if (/^[a-z]+s$/i.test(first) && articles.includes(others[0] ?? '')) return `has the verb "${first}"`;
  return / to use$/.test(phrase) ? 'says what to do with it' : undefined;
}

/** Behind a word that ends in "s" they say that it is a verb. */
const articles = ['a', 'an', 'the', 'what', 'how', 'whether', 'which'];
