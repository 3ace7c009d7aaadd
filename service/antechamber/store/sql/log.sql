-- name: add_leaf
INSERT INTO log_leaves (id, leaf, subject, salt) VALUES (:id, :leaf, :subject, :salt)
