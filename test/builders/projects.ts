import { type FindProject, projectOfNamespace } from '../../src/scope/request-path.ts';

/** Every namespace with the name of a project is one, as where all of them have their label. */
export const projectsByName: FindProject = (namespace) => projectOfNamespace(namespace, 'p-');
