;; SPDX-License-Identifier: GPL-2.0
;; Stalls of Emacs' command loop, by timers: FILE DELAY_S ROUNDS in the environment.

(defun stalls-spin (seconds)
  (let ((end (+ (float-time) seconds)))
    (while (< (float-time) end))))

(defvar stalls-kinds
  '(("cpu" . (lambda () (stalls-spin 0.15)))
    ("child" . (lambda () (call-process "sleep" nil nil nil "0.15")))
    ("sleep" . (lambda () (sleep-for 0.15)))))

(defun stalls-next (left)
  (let ((kind (car left)) (begin (float-time)) end)
    (funcall (cdr kind))
    (setq end (float-time))
    (write-region (format "%.0f %.0f %s\n" (* begin 1e9) (* end 1e9) (car kind)) nil (getenv "STALLS_FILE") t 'quiet)
    (when (cdr left)
      (run-at-time 0.4 nil #'stalls-next (cdr left)))))

(let (all)
  (dotimes (_ (string-to-number (getenv "STALLS_ROUNDS")))
    (setq all (append stalls-kinds all)))
  (run-at-time (string-to-number (getenv "STALLS_DELAY")) nil #'stalls-next all))
