-- From here on the leaf of an accepted submission is stored in a shorter form (`packed_leaf.py`). Leaves that are stored
-- stay as they are. The step changes nothing; a version that has no such step and cannot read the form refuses the file.
SELECT 1;
