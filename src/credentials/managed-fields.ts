import { asObject } from '../api/json.ts';
import { fieldManager } from '../api/names.ts';

/** Who owns the field `spec.<name>` by `metadata.managedFields`. Several owners, or any manager but the operator's: `other`. */
export function ownerOfSpecField(managedFields: unknown, name: string): 'none' | 'operator' | 'other' {
  const managers = managersOf(managedFields, name);
  if (managers.length === 0) return 'none';
  return managers.every((manager) => manager === fieldManager) ? 'operator' : 'other';
}

/** Whether the operator's field manager is among the owners of `spec.<name>`: it wrote the value that stands there. */
export function isWrittenByOperator(managedFields: unknown, name: string): boolean {
  return managersOf(managedFields, name).includes(fieldManager);
}

function managersOf(managedFields: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(managedFields)) return [];
  return managedFields
    .map(asObject)
    .filter((entry) => Object.hasOwn(asObject(asObject(entry['fieldsV1'])['f:spec']), `f:${name}`))
    .map((entry) => entry['manager']);
}
